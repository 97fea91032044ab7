import TrackingCore

/// Reads one GeoJSON Feature a line in the form of `protocol.md`, or RFC 8142 sequences (with a record separator).
///
/// An invalid line is rejected and reported, and reading continues with the next line.
struct JSONLinesReader: RecordingDecoder {
    private var splitter = LineSplitter()
    private let decode: @Sendable (ArraySlice<UInt8>) throws(TrackingError) -> Location

    /// Creates a reader of GeoJSON Features in the form that Godwit's protocol defines.
    init() { self.init(decode: { bytes throws(TrackingError) in try LocationCodec.decodeFeature(bytes) }) }

    /// Creates a reader that decodes each line, one GeoJSON Feature, with the function `decode`.
    init(decode: @escaping @Sendable (ArraySlice<UInt8>) throws(TrackingError) -> Location) { self.decode = decode }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.splitter.append(bytes).compactMap(self.event)
    }

    mutating func finish() -> [SourceEvent] {
        self.splitter.finish().flatMap(self.event).map { [$0] } ?? []
    }

    private func event(of line: LineSplitter.Line) -> SourceEvent? {
        switch line {
        case .tooLong(let number): return .badInput("line \(number) is longer than \(LineSplitter.limit) bytes")
        case .text(let bytes, let number):
            let text = bytes.drop { $0 == 0x1E || XMLTagReader.isSpace($0) }
            guard !text.isEmpty else { return nil }
            do throws(TrackingError) {
                var location = try self.decode(text)
                // These members belong to the publisher that recorded the fix. This publisher sets its own.
                (location.seq, location.stream, location.tripID, location.mode) = (nil, nil, nil, nil)
                return .fix(location)
            } catch {
                return .badInput("line \(number): \(error.message)")
            }
        }
    }
}
