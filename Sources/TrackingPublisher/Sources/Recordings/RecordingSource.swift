private import SystemLibrary
public import TrackingCore
import TrackingRuntime

/// Replays a file of GPX, JSON Lines or NMEA, or reads JSON Lines from standard input.
///
/// A file is replayed at its pace, and its fixes are marked `replay`. Standard input may come from a receiver or a
/// recording. Each of its fixes is delivered at once, and is marked `gps` unless it names its own source.
public struct RecordingSource: LocationSource {
    /// The file format of a recording: GPX, JSON Lines or NMEA.
    public enum Format: String, Hashable, Sendable {
        /// The recording is a GPX track.
        case gpx
        /// JSON Lines: one GeoJSON Feature a line.
        case jsonl
        /// Recorded sentences of NMEA 0183.
        case nmea
    }

    /// The properties of the source that are known before it runs: its name, its kind, its class of accuracy, whether
    /// it ends by itself, and whether it is a live receiver that measures the current position.
    public let facts: SourceFacts
    private let format: Format
    /// The path of the recording's file; `nil` when the source reads standard input.
    private let path: String?
    private let pace: ReplayPace
    private let wanted = ResolutionBox()

    /// Creates a source that replays a file.
    ///
    /// - Parameters:
    ///   - format: The format of the file.
    ///   - path: The path of the file, which is opened when the source runs.
    ///   - pace: The speed of the replay.
    ///   - accuracy: The class of accuracy of the recording.
    public init(
        _ format: Format, file path: String, pace: ReplayPace = .recorded, accuracy: Resolution.Accuracy = .high
    ) {
        self.format = format
        self.path = path
        self.pace = pace
        self.facts = SourceFacts(
            name: "\(format.rawValue):\(path)", kind: .replay, isFinite: true, isLive: false, accuracy: accuracy)
    }

    /// Returns a source that reads JSON Lines from standard input. Only one source of a process can read standard
    /// input.
    ///
    /// - Parameter accuracy: The class of accuracy of the fixes.
    public static func standardInput(accuracy: Resolution.Accuracy = .high) -> Self { Self(standardInput: accuracy) }

    private init(standardInput accuracy: Resolution.Accuracy) {
        self.format = .jsonl
        self.path = nil
        self.pace = .maximum
        self.facts = SourceFacts(
            name: "jsonl:-", kind: .gps, isFinite: true, isLive: false, accuracy: accuracy)
    }

    /// Sets the resolution that is wanted from now on. Unless the pace is `max`, the replay delivers only the fixes
    /// that the desired interval needs.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers the fixes of the recording. Returns at the end of the recording, or when the task is cancelled.
    ///
    /// - Throws: `inputUnreadable` when the recording cannot be opened or read, is not in its format, or, as a GPX or
    ///   JSON Lines file, contains invalid positions and no valid one.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        do throws(TrackingError) {
            let channel = try self.open()
            defer { channel.close() }
            switch self.format {
            case .gpx: try await self.replay(channel, GPXReader(), deliver)
            case .jsonl: try await self.replay(channel, JSONLinesReader(), deliver)
            case .nmea:
                // A recording without a date is assumed to be made when its file was last written.
                let clock = channel.modified ?? DeviceClock.wall
                try await self.replay(channel, NMEARecordingReader(clock: clock), deliver)
            }
        } catch {
            if error.code != .stopped { throw error }
        }
    }

    private func open() throws(TrackingError) -> ByteChannel {
        guard let path = self.path else { return ByteChannel(STDIN_FILENO, name: self.facts.name, isOwned: false) }
        return try ByteChannel.open(path: path, name: self.facts.name)
    }

    private func replay(
        _ channel: ByteChannel, _ decoder: some RecordingDecoder,
        _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async throws(TrackingError) {
        var decoder = decoder
        var pacer = ReplayPacer(pace: self.pace)
        var yield = Yield()
        while case .bytes(let bytes) = try await channel.read() {
            let events = decoder.append(bytes)
            yield.add(events)
            try await self.deliver(events, &pacer, deliver)
            if decoder.failure != nil { break }
        }
        let last = decoder.finish()
        yield.add(last)
        try await self.deliver(last, &pacer, deliver)
        // NMEA without a position is valid: the receiver may have no fix, and the line may be noisy. Standard input
        // may end at any time.
        let reason = decoder.failure?.message ?? (self.path == nil || self.format == .nmea ? nil : yield.complaint)
        if let reason { throw TrackingError(.inputUnreadable, "\(self.facts.name): \(reason)") }
    }

    /// The outcome of reading a recording: if it contained a fix, and the number of its rejected inputs.
    private struct Yield {
        private var hasFix = false
        private var refused = 0

        mutating func add(_ events: [SourceEvent]) {
            for event in events {
                switch event {
                case .fix: self.hasFix = true
                case .badInput: self.refused += 1
                case .notice: break
                }
            }
        }

        /// The reason to reject the recording: it contains rejected inputs and no fix. `nil` if it is not to be
        /// rejected.
        var complaint: String? {
            guard !self.hasFix, self.refused > 0 else { return nil }
            return "the input has no valid position, and \(self.refused) invalid ones"
        }
    }

    private func deliver(
        _ events: [SourceEvent], _ pacer: inout ReplayPacer,
        _ deliver: @escaping @Sendable (SourceEvent) async -> Void
    ) async throws(TrackingError) {
        for event in events {
            if Task.isCancelled { throw SystemError.cancelled }
            guard case .fix(var location) = event else {
                await deliver(event)
                continue
            }
            if let due = pacer.due(location.time, now: DeviceClock.now) { try await Self.sleep(until: due) }
            guard pacer.isWanted(location.time, under: self.wanted.current) else { continue }
            location.source = self.path == nil ? location.source ?? self.facts.kind : self.facts.kind
            await deliver(.fix(location))
        }
    }

    private static func sleep(until due: MonotonicTime) async throws(TrackingError) {
        do { try await Task.sleep(for: DeviceClock.now.duration(to: due)) } catch { throw SystemError.cancelled }
    }
}
