import Logging
import TrackingCore

/// The events of a subscriber for readers of published positions, and the log records about rejected messages.
extension AssetSubscriber {
    /// A new stream of all events, like ``everyEvent``. Its positions are those of the publishers, also if the program
    /// prefers enhanced positions.
    package var everyPublishedEvent: AsyncStream<SubscriberEvent> {
        let events = self.everyEvent
        guard self.configuration.prefers == .enhanced else { return events }
        return AsyncStream {
            for await event in events {
                switch event {
                case .publishedLocation(let id, let update): return .location(id, update)
                case .location: continue
                default: return event
                }
            }
            return nil
        }
    }

    /// Logs that the broker rejected a subscription or a message of this subscriber.
    func logRefusal(_ event: SubscriberEvent) {
        switch event {
        case .refused(let id, let error):
            self.logger.warning(
                "Broker rejected the subscription to a trackable: the subscriber receives nothing of it, and tries again after waits of up to 15 min. Grant the right to read at the broker, for example with broker/add-watcher",
                metadata: ["trackable": "\(Self.name(id))", "reason": "\(error)"])
        case .enhancedRefused(let id, let error):
            self.logger.warning(
                "Broker rejected the subscription to enhanced positions: the subscriber delivers the positions that devices published instead. Grant the right to read at the broker",
                metadata: ["trackable": "\(Self.name(id))", "reason": "\(error)"])
        case .publishRefused(let topic, let error):
            self.logger.warning(
                "Broker rejected the subscriber's presence or resolution request: publishers ignore the request or do not count the subscriber, but positions still arrive if this user may read them. Grant the right at the broker, for example with broker/add-watcher, or make the subscriber silent",
                metadata: ["topic": "\(topic)", "reason": "\(error)"])
        case .location, .publishedLocation, .locationCleared, .positionsKept, .raw, .state, .presence, .resolution,
            .trip, .tripRecorded, .event, .journey, .estimate, .silent, .badMessage, .connection:
            break
        }
    }

    private static func name(_ id: TrackableID?) -> String { id.map { "\($0)" } ?? "all trackables" }
}
