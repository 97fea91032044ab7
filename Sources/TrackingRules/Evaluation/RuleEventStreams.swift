import TrackingCore

/// Names the events that the gateway's rules produce: one stream for each trackable and each run of the gateway.
/// Because each run has new streams, two events never get the same name, even after the database was restored from a
/// backup.
struct RuleEventStreams: Sendable {
    /// The name of the last event of each trackable in this run.
    private var last: [TrackableID: RecordName] = [:]
    /// The streams of earlier runs of the gateway, whose events the broker may still send.
    private let former: Set<StreamID>
    private var changed: Set<TrackableID> = []
    private var random: SplitMix64

    /// Creates the streams of one run.
    ///
    /// - Parameters:
    ///   - seed: The seed of the random stream names and event ids.
    ///   - former: The streams of earlier runs.
    init(seed: UInt64, former: Set<StreamID> = []) {
        self.random = SplitMix64(seed: seed)
        self.former = former
    }

    /// Returns `true` when rules of this gateway produced the stream's events, in this run or an earlier one.
    func isOwn(_ stream: StreamID, of id: TrackableID) -> Bool {
        self.last[id]?.stream == stream || self.former.contains(stream)
    }

    /// Returns the event of a rule's finding, with the next sequence number of its trackable.
    mutating func event(_ finding: RuleBook.Finding) -> TrackingEvent {
        var name = self.last[finding.trackable] ?? RecordName(stream: StreamID.random(using: &self.random), seq: 0)
        name.seq += 1
        self.last[finding.trackable] = name
        self.changed.insert(finding.trackable)
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: name.stream, seq: name.seq, time: finding.time,
            kind: finding.kind, detail: finding.detail, location: finding.location)
    }

    /// Returns the name of the last event of each trackable with new events since the last call.
    mutating func takeChanges() -> [TrackableID: RecordName] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.last[$1] }
    }
}
