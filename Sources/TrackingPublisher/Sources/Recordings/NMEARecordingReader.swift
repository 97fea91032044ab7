import TrackingCore

/// Reads recorded NMEA, piece by piece. What has not one sentence is no recording of it.
struct NMEARecordingReader: RecordingDecoder {
    private var splitter = LineSplitter()
    private var decoder = NMEADecoder(isLive: false)
    private let clock: UnixTime
    private var hasSentence = false
    private(set) var failure: TrackingError?

    /// Reads a recording made at about `clock`, which dates what no sentence dates.
    init(clock: UnixTime) { self.clock = clock }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.splitter.append(bytes).flatMap { self.take(NMEALine($0)) }
    }

    mutating func finish() -> [SourceEvent] {
        let last = self.splitter.finish().map { self.take(NMEALine($0)) } ?? []
        if !self.hasSentence {
            self.failure = TrackingError(.inputUnreadable, "is no NMEA: not one line of it is a sentence")
        }
        return last + self.decoder.finish(clock: self.clock)
    }

    private mutating func take(_ line: NMEALine) -> [SourceEvent] {
        switch line {
        case .sentence, .doubted: self.hasSentence = true
        case .refused, .nothing: break
        }
        return self.decoder.receive(line, clock: self.clock)
    }
}
