import TrackingCore

extension PublisherConfiguration {
    /// Returns the topic filters for one trackable: presences of publishers and subscribers, resolution requests, and
    /// acknowledgements of recorders.
    func filters(of id: TrackableID) -> [TopicFilter] {
        let named = self.recording.recorders.sorted().map { TopicFilter.topic(.ack(id, $0)) }
        let acknowledgements = named.isEmpty && self.recording.unnamedRecorder != .none ? [.acks(id)] : named
        return [.publishers(id), .subscribers(id), .requests(id)] + acknowledgements
    }

    /// Returns the topic filters that end with the tracking of a trackable: those of ``filters(of:)``, and the optional
    /// ones for commands and for the clearing of a remote source's position.
    func allFilters(of id: TrackableID, isRemote: Bool) -> [TopicFilter] {
        let commands: [TopicFilter] = self.takesCommands ? [.topic(.command(id))] : []
        let positions: [TopicFilter] = isRemote ? [.topic(.location(id))] : []
        return self.filters(of: id) + commands + positions
    }
}
