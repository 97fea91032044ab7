import TrackingCore

/// The streams of the events that rules produce: one stream for each trackable and each run of the gateway. A database that was
/// restored from a backup therefore never names two events alike.
struct RuleEventStreams: Sendable {
    /// The last event of each trackable in this run.
    private var last: [TrackableID: RecordName] = [:]
    /// The streams of earlier runs whose events the broker may still send.
    private let former: Set<StreamID>
    private var changed: Set<TrackableID> = []
    private var random: SplitMix64

    /// - Parameters:
    ///   - seed: The seed of the random stream names and event ids.
    ///   - former: The streams of earlier runs.
    init(seed: UInt64, former: Set<StreamID> = []) {
        self.random = SplitMix64(seed: seed)
        self.former = former
    }

    /// Returns `true` when the rules of this gateway produced the stream.
    func isOwn(_ stream: StreamID, of id: TrackableID) -> Bool {
        self.last[id]?.stream == stream || self.former.contains(stream)
    }

    /// Returns the event of a finding, with the next sequence number of its trackable.
    mutating func event(_ finding: RuleBook.Finding) -> TrackingEvent {
        var name = self.last[finding.trackable] ?? RecordName(stream: StreamID.random(using: &self.random), seq: 0)
        name.seq += 1
        self.last[finding.trackable] = name
        self.changed.insert(finding.trackable)
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: name.stream, seq: name.seq, time: finding.time,
            kind: finding.kind, detail: finding.detail, location: finding.location)
    }

    /// Returns the last event of each trackable that changed since the last call.
    mutating func takeChanges() -> [TrackableID: RecordName] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.last[$1] }
    }
}
