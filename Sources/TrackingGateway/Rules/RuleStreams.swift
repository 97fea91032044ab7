import TrackingCore

/// Numbers the events of rules: one stream for each trackable and each run of the gateway. A file that was put back to an earlier
/// state so gives no name twice.
struct RuleStreams: Sendable {
    /// The last number of each trackable in this run.
    private var given: [TrackableID: RecordName] = [:]
    /// The streams of runs before, of which something may be heard still.
    private let former: Set<StreamID>
    private var changed: Set<TrackableID> = []
    private var random: SplitMix64

    /// - Parameter former: The streams of runs before.
    init(seed: UInt64, former: Set<StreamID> = []) {
        self.random = SplitMix64(seed: seed)
        self.former = former
    }

    /// Whether a stream of a trackable is the rules'.
    func isOwn(_ stream: StreamID, of id: TrackableID) -> Bool {
        self.given[id]?.stream == stream || self.former.contains(stream)
    }

    /// The event that tells a finding, with the next number.
    mutating func event(_ finding: RuleBook.Finding) -> TrackingEvent {
        var name =
            self.given[finding.trackable] ?? RecordName(stream: StreamID.random(using: &self.random), seq: 0)
        name.seq += 1
        self.given[finding.trackable] = name
        self.changed.insert(finding.trackable)
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: name.stream, seq: name.seq, time: finding.time,
            kind: finding.kind, detail: finding.detail, location: finding.location)
    }

    /// The last numbers that are to be kept, of those that changed since the last call.
    mutating func takeChanges() -> [(TrackableID, RecordName)] {
        defer { self.changed = [] }
        return self.changed.compactMap { id in self.given[id].map { (id, $0) } }
    }
}
