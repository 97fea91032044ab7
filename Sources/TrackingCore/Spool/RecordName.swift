/// The name of one record in a device's log: its stream and its number.
public struct RecordName: Hashable, Sendable, CustomStringConvertible {
    /// The stream that numbers the record.
    public var stream: StreamID
    /// The record's number, from 1.
    public var seq: UInt64

    /// Makes a name.
    public init(stream: StreamID, seq: UInt64) {
        self.stream = stream
        self.seq = seq
    }

    /// Parses `STREAM:SEQ`; returns `nil` for other texts.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let stream = StreamID(String(text[..<colon])),
            let seq = UInt64(text[text.index(after: colon)...]), (1...WireLimits.maximumInteger).contains(seq)
        else { return nil }
        self.init(stream: stream, seq: seq)
    }

    /// The name as `STREAM:SEQ`.
    public var description: String { "\(self.stream):\(self.seq)" }
}
