/// The name of one record in a device's log: its stream and its number.
public struct RecordName: Hashable, Sendable, CustomStringConvertible {
    /// The stream, the numbered sequence to which the record belongs.
    public var stream: StreamID
    /// The record's number in its stream, from 1.
    public var seq: UInt64

    /// Makes the name of a record from its stream and its number in that stream.
    public init(stream: StreamID, seq: UInt64) {
        self.stream = stream
        self.seq = seq
    }

    /// Parses a record's name in the form `STREAM:SEQ`. Returns `nil` for any other text.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let stream = StreamID(String(text[..<colon])),
            let seq = UInt64(text[text.index(after: colon)...]), (1...WireLimits.maximumInteger).contains(seq)
        else { return nil }
        self.init(stream: stream, seq: seq)
    }

    /// The record's name in the form `STREAM:SEQ`.
    public var description: String { "\(self.stream):\(self.seq)" }
}
