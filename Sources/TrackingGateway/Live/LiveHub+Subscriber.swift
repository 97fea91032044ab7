package import TrackingCore
import TrackingRuntime
package import TrackingStore
package import TrackingSubscriber

/// The hub of a gateway that watches the broker with a subscriber.
extension LiveHub {
    /// Creates the hub that delivers the updates of a subscriber to live streams. The caller, not the hub, runs the
    /// subscriber.
    package convenience init<Transport: MessageTransport>(
        _ subscriber: AssetSubscriber<Transport>, history: (any HistoryStore)? = nil,
        overfull: @escaping @Sendable () -> Void = {},
        dropped: @escaping @Sendable (Int) -> Void = { _ in },
        cleared: @escaping @Sendable (TrackableID, Location?) -> Void = { _, _ in },
        clockAhead: @escaping @Sendable () -> Void = {}
    ) {
        let clock = DeviceClock()
        self.init(
            events: subscriber.everyEvent, trackables: subscriber.configuration.maximumTrackables * 2,
            history: history, isSettled: { subscriber.isSettled },
            settling: { await subscriber.settled(until: $0) }, overfull: overfull, dropped: dropped, cleared: cleared,
            clockAhead: clockAhead, expect: { subscriber.expect($0) },
            timeSinceDrop: { subscriber.brokerDrops.lastIncrease.map { $0.duration(to: clock.moment.now) } }
        ) { subscriber.request($1, for: $0) }
    }
}
