import TrackingCore

/// The reasons for which a recorder publishes acknowledgements after it stored a page of messages: the trackables of
/// certain messages on the page.
struct AcknowledgementReasons: Sendable {
    /// The time at which an acknowledgement is published.
    enum Urgency: Hashable, Sendable {
        /// The recorder publishes the acknowledgement at once.
        case immediate
        /// The recorder publishes the acknowledgement together with later ones.
        case delayed
    }

    /// The trackables whose devices wait for an acknowledgement. A device waits after it sent a batch of records or a
    /// publisher's presence, or a message that was quarantined.
    private(set) var awaited: Set<TrackableID> = []
    /// The trackables that a publisher stopped tracking. The broker retains the acknowledgement for the next run of the
    /// publisher, which then does not send the acknowledged records again.
    private(set) var ended: Set<TrackableID> = []
    /// The trackables of which the page has points, trips or events.
    private(set) var recorded: Set<TrackableID> = []

    /// Creates reasons for no trackable.
    init() {}

    /// Creates the reasons that follow from the messages on a page.
    init(_ batch: RecordingBatch) {
        for recording in batch.recordings {
            let presence = recording.state.flatMap { $0.name.hasPrefix("publisher/") ? $0 : nil }
            if recording.declaration != nil || presence?.json != nil {
                self.awaited.insert(recording.trackable)
            } else if presence != nil {
                self.ended.insert(recording.trackable)
            } else if !(recording.points.isEmpty && recording.trips.isEmpty && recording.events.isEmpty) {
                self.recorded.insert(recording.trackable)
            }
        }
        self.awaited.formUnion(batch.refused.lazy.compactMap(\.trackable))
    }

    /// Returns the time at which the acknowledgement of this trackable is published; `nil` for never.
    ///
    /// - Parameter isEmpty: `true` if the acknowledgement has no stream. Only devices that wait get an empty one.
    func urgency(of id: TrackableID, isEmpty: Bool) -> Urgency? {
        if self.awaited.contains(id) { return .immediate }
        guard !isEmpty else { return nil }
        if self.ended.contains(id) { return .immediate }
        return self.recorded.contains(id) ? .delayed : nil
    }
}
