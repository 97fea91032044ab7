import TrackingCore

/// Reads recorded NMEA, piece by piece.
struct NMEARecordingReader: RecordingDecoder {
    private var splitter = LineSplitter()
    private var decoder = NMEADecoder(isLive: false)
    private let clock: UnixTime

    /// Reads a recording made at about `clock`, which dates what no sentence dates.
    init(clock: UnixTime) { self.clock = clock }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.splitter.append(bytes).flatMap { self.decoder.receive(NMEALine($0), clock: self.clock) }
    }

    mutating func finish() -> [SourceEvent] {
        let last = self.splitter.finish().map { self.decoder.receive(NMEALine($0), clock: self.clock) } ?? []
        return last + self.decoder.finish(clock: self.clock)
    }
}
