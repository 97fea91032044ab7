import TrackingCore

/// What the recording lane brings that the live lanes did not.
extension SubscriberStateMachine {
    /// Events, and trips that ended, of the last week, each once; of whatever publisher.
    mutating func recorded(
        _ documents: BatchDocuments, of id: TrackableID, _ topic: String, at moment: Moment
    ) -> [Action] {
        let oldest = moment.wall.advanced(by: .zero - SubscriberConfiguration.recordedFor)
        let trips = documents.trips.filter { $0.end.map { $0 >= oldest } ?? false }
        let events = documents.events.filter { $0.time >= oldest }
        var actions: [Action] = trips.isEmpty && events.isEmpty ? [] : self.show(id, at: moment)
        for trip in trips where self.assets[id]?.isNews(recorded: trip) == true {
            actions.append(.tell(.tripRecorded(id, trip)))
        }
        for event in events where self.assets[id]?.isNews(event) == true { actions.append(.tell(.event(id, event))) }
        guard let refusal = documents.refusal else { return actions }
        self.badMessages += 1
        return actions + [.tell(.badMessage(topic: topic, refusal))]
    }
}
