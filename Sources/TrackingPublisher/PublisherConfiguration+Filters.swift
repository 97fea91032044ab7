import TrackingCore

extension PublisherConfiguration {
    /// Returns the topic filters for one trackable: presences of publishers and subscribers, resolution requests, and
    /// acknowledgements of recorders.
    func filters(of id: TrackableID) -> [TopicFilter] {
        let named = self.recording.recorders.sorted().map { TopicFilter.topic(.ack(id, $0)) }
        let acknowledgements = named.isEmpty && self.recording.unnamedRecorder != .none ? [.acks(id)] : named
        return [.publishers(id), .subscribers(id), .requests(id)] + acknowledgements
    }

    /// Returns the topic filters of a trackable's journey and of the estimates of its arrivals, in this order.
    func journeyFilters(of id: TrackableID) -> [TopicFilter] { [.topic(.journey(id)), .topic(.estimate(id))] }

    /// Returns the topic filters from which the publisher unsubscribes when it stops tracking a trackable: those of
    /// ``filters(of:)``, the command topic if commands are accepted, and the position topic if another system supplies
    /// the records (`isRemote`). On the position topic, the publisher notices that the position was cleared.
    func allFilters(of id: TrackableID, isRemote: Bool) -> [TopicFilter] {
        let commands: [TopicFilter] = self.takesCommands ? [.topic(.command(id))] : []
        let positions: [TopicFilter] = isRemote ? [.topic(.location(id))] : []
        return self.filters(of: id) + commands + positions
    }
}
