import TrackingCore

/// Reads recorded NMEA, piece by piece. An input without a valid sentence is an error.
struct NMEARecordingReader: RecordingDecoder {
    private var splitter = LineSplitter()
    private var decoder = NMEADecoder(isLive: false)
    private let clock: UnixTime
    private var hasSentence = false
    private(set) var failure: TrackingError?

    /// Makes a reader of recorded NMEA sentences.
    ///
    /// - Parameter clock: The approximate time of the recording. It supplies the date if no sentence contains one.
    init(clock: UnixTime) { self.clock = clock }

    mutating func append(_ bytes: ArraySlice<UInt8>) -> [SourceEvent] {
        self.splitter.append(bytes).flatMap { self.take(NMEALine($0)) }
    }

    mutating func finish() -> [SourceEvent] {
        let last = self.splitter.finish().map { self.take(NMEALine($0)) } ?? []
        if !self.hasSentence {
            self.failure = TrackingError(.inputUnreadable, "the input is not NMEA: no line is a valid sentence")
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
