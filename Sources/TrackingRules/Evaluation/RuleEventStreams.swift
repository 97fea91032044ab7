import TrackingCore

/// Gives names to the events that the gateway's rules produce. A name consists of a stream, which is a random id, and a
/// number in it.
///
/// Each trackable gets a new stream in each run of the gateway. Therefore two events never get the same name, even
/// after the database was restored from a backup.
struct RuleEventStreams: Sendable {
    /// The name of the last event that rules produced in this run, by trackable.
    private var last: [TrackableID: RecordName] = [:]
    /// The streams that earlier runs of the gateway gave to rule events. The gateway can still receive such events from
    /// the broker.
    private let former: Set<StreamID>
    private var changed: Set<TrackableID> = []
    private var random: SplitMix64

    /// Creates the names for the rule events of one run of the gateway.
    ///
    /// - Parameters:
    ///   - seed: The seed of the random stream ids and event ids.
    ///   - former: The streams of rule events of earlier runs.
    init(seed: UInt64, former: Set<StreamID> = []) {
        self.random = SplitMix64(seed: seed)
        self.former = former
    }

    /// Returns `true` if rules of this gateway produced the events of a stream, in this run or an earlier one.
    func isOwn(_ stream: StreamID, of id: TrackableID) -> Bool {
        self.last[id]?.stream == stream || self.former.contains(stream)
    }

    /// Makes the event that reports a rule's finding, numbered after the last rule event of the same trackable.
    mutating func event(_ finding: RuleBook.Finding) -> TrackingEvent {
        var name = self.last[finding.trackable] ?? RecordName(stream: StreamID.random(using: &self.random), seq: 0)
        name.seq += 1
        self.last[finding.trackable] = name
        self.changed.insert(finding.trackable)
        return TrackingEvent(
            id: UUIDText.random(using: &self.random), stream: name.stream, seq: name.seq, time: finding.time,
            kind: finding.kind, detail: finding.detail, location: finding.location)
    }

    /// Returns, for each trackable for which a rule event was made since the last call of this function, the name
    /// (stream and number) of its last rule event.
    mutating func takeChanges() -> [TrackableID: RecordName] {
        defer { self.changed = [] }
        return self.changed.reduce(into: [:]) { $0[$1] = self.last[$1] }
    }
}
