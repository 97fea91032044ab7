import TrackingCore

/// Numbers the events of rules: one stream for each trackable, that goes on for as long as the gateway's file is there.
struct RuleStreams: Sendable {
    /// The last number of each trackable.
    var known: [TrackableID: RecordName] = [:]
    private var changed: Set<TrackableID> = []
    private var random: SplitMix64

    init(seed: UInt64) { self.random = SplitMix64(seed: seed) }

    /// Whether a stream of a trackable is the rules'.
    func isOwn(_ stream: StreamID, of id: TrackableID) -> Bool { self.known[id]?.stream == stream }

    /// The event that tells a finding, with the next number.
    mutating func event(_ finding: RuleBook.Finding) -> TrackingEvent {
        var name =
            self.known[finding.trackable] ?? RecordName(stream: StreamID.random(using: &self.random), seq: 0)
        name.seq += 1
        self.known[finding.trackable] = name
        self.changed.insert(finding.trackable)
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: name.stream, seq: name.seq, time: finding.time,
            kind: finding.kind, detail: finding.detail, location: finding.location)
    }

    /// The last numbers that are to be kept, of those that changed since the last call.
    mutating func takeChanges() -> [(TrackableID, RecordName)] {
        defer { self.changed = [] }
        return self.changed.compactMap { id in self.known[id].map { (id, $0) } }
    }
}
