private import Glibc
public import TrackingCore
import TrackingRuntime

/// Replays a recording: a file of GPX, JSON Lines or NMEA; or takes JSON Lines from standard input.
///
/// A file is replayed at its pace and marked `replay`. Standard input may be a receiver behind a pipe just as well as a
/// recording: it is delivered as it comes, each fix, and marked `gps` unless it says itself what it is.
public struct RecordingSource: LocationSource {
    /// The formats that can be replayed.
    public enum Format: String, Hashable, Sendable {
        case gpx, jsonl, nmea
    }

    /// What is known of the source before it runs.
    public let facts: SourceFacts
    private let format: Format
    /// `nil`: standard input.
    private let path: String?
    private let pace: ReplayPace
    private let wanted = ResolutionBox()

    /// A recording in the file at `path`.
    public init(
        _ format: Format, file path: String, pace: ReplayPace = .recorded, accuracy: Resolution.Accuracy = .high
    ) {
        self.format = format
        self.path = path
        self.pace = pace
        self.facts = SourceFacts(
            name: "\(format.rawValue):\(path)", kind: .replay, isFinite: true, isLive: false, accuracy: accuracy)
    }

    /// The JSON Lines that come in on standard input. Only one source of a process can read it.
    public static func standardInput(accuracy: Resolution.Accuracy = .high) -> Self { Self(standardInput: accuracy) }

    private init(standardInput accuracy: Resolution.Accuracy) {
        self.format = .jsonl
        self.path = nil
        self.pace = .maximum
        self.facts = SourceFacts(
            name: "jsonl:-", kind: .gps, isFinite: true, isLive: false, accuracy: accuracy)
    }

    /// Says which resolution is wanted from now on.
    public func use(_ resolution: Resolution) async { self.wanted.set(resolution) }

    /// Delivers the recording, and returns at its end.
    ///
    /// - Throws: `inputUnreadable` when it cannot be opened, or is not of its format.
    public func run(deliver: @escaping SourceEvent.Delivery) async throws(TrackingError) {
        do throws(TrackingError) {
            let channel = try self.open()
            defer { channel.close() }
            switch self.format {
            case .gpx: try await self.replay(channel, GPXReader(), deliver)
            case .jsonl: try await self.replay(channel, JSONLinesReader(), deliver)
            case .nmea:
                // A recording that tells no date was made when its file was last written.
                let clock = channel.modified ?? SourceClock.unix
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
        // Receivers without a fix, and what noise a line has, make no position of NMEA; and a pipe ends when it ends.
        let reason = decoder.failure?.message ?? (self.path == nil || self.format == .nmea ? nil : yield.complaint)
        if let reason { throw TrackingError(.inputUnreadable, "\(self.facts.name) \(reason)") }
    }

    /// What came of a recording.
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

        /// Why it is no recording: all that it has was refused.
        var complaint: String? {
            guard !self.hasFix, self.refused > 0 else { return nil }
            return "has no position that could be read, and \(self.refused) that could not"
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
            if let due = pacer.due(location.time, now: SourceClock.now) { try await Self.sleep(until: due) }
            guard pacer.isWanted(location.time, under: self.wanted.current) else { continue }
            location.source = self.path == nil ? location.source ?? self.facts.kind : self.facts.kind
            await deliver(.fix(location))
        }
    }

    private static func sleep(until due: MonotonicTime) async throws(TrackingError) {
        do { try await Task.sleep(for: SourceClock.now.duration(to: due)) } catch { throw SystemError.cancelled }
    }
}
