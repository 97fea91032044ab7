package import TrackingCore

/// The least rights at a broker with which one MQTT client can watch some trackables: the topics that the client may
/// read and write.
///
/// The rights are those of a watcher that `broker/add-watcher` adds. The client may read everything about its trackables
/// except commands, because commands contain places. It may publish its own liveness, presence and requests.
package struct WatcherGrants: Hashable, Sendable {
    /// The client id to which the rights belong.
    package let client: ClientID
    /// The topic filters to which the client may subscribe. They overlap no other topic of the protocol.
    package let reads: [String]
    /// The topics to which the client may publish.
    package let writes: [String]

    /// Determines the rights of a client that watches these trackables, for topics beneath the topic root.
    package init(of client: ClientID, watching trackables: [TrackableID], root: TopicRoot) {
        self.client = client
        self.reads = trackables.flatMap { id in Self.filters(of: id).map(root.path) } + [root.path(.everyLiveness)]
        self.writes =
            trackables.flatMap { id in [root.path(.subscriber(id, client)), root.path(.request(id, client))] }
            + [root.path(.liveness(client))]
    }

    private static func filters(of id: TrackableID) -> [TopicFilter] {
        let topics: [Topic] = [
            .location(id), .enhanced(id), .journey(id), .estimate(id), .raw(id), .history(id), .resolution(id),
            .trip(id), .event(id),
        ]
        return topics.map(TopicFilter.topic) + [.publishers(id), .subscribers(id), .requests(id), .acks(id)]
    }
}
