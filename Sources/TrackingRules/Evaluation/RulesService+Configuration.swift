package import TrackingCore

extension RulesService {
    /// The settings of a rules service.
    package struct Configuration: Sendable {
        /// The kinds of received messages that are queued for webhooks. Events of rules are queued in any case.
        package var kinds: Set<Outbox.Kind> = []
        /// The names of the webhooks that read the outbox. At its start, the service removes all other readers except
        /// its own publisher of rule events.
        package var readers: [String] = []
        /// The functions that remove the records of other components about a trackable when the trackable is erased.
        package var related: [ErasableRecords] = []
        /// The largest number of trackables that the rules know at once. It is twice the number that the subscriber
        /// watches.
        package var trackables: Int
        /// The seed of the random stream names and event ids.
        package var seed: UInt64
        /// Returns the present time of the wall clock.
        package var now: @Sendable () -> UnixTime

        /// Creates the settings of a rules service.
        package init(
            kinds: Set<Outbox.Kind> = [], readers: [String] = [], related: [ErasableRecords] = [],
            trackables: Int = 20_000, seed: UInt64, now: @escaping @Sendable () -> UnixTime
        ) {
            self.kinds = kinds
            self.readers = readers
            self.related = related
            self.trackables = trackables
            self.seed = seed
            self.now = now
        }
    }

    /// The functions through which a rules service acts on other components of the gateway.
    package struct Effects: Sendable {
        /// Publishes an event that a rule produced on the event topic of the trackable. Returns after the broker's
        /// acknowledgement.
        package var publish: @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void
        /// Receives the number of webhook messages that were dropped before their delivery, for example to count them.
        package var dropped: @Sendable (Int) -> Void

        /// Creates the functions through which a rules service acts on other components.
        package init(
            publish: @escaping @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void,
            dropped: @escaping @Sendable (Int) -> Void = { _ in }
        ) {
            self.publish = publish
            self.dropped = dropped
        }
    }
}
