package import TrackingCore

/// The current state that the API reads, as received from the broker.
package struct LiveState: Sendable {
    /// The current state of one trackable.
    package struct Known: Sendable {
        /// The last known position.
        package var position: Location?
        /// The other members that are known, by name: `state`, `presence`, `resolution`, `trip`, `clock`; each as
        /// JSON, as the live stream publishes it.
        package var members: [String: [UInt8]]

        /// Makes a state.
        package init(position: Location? = nil, members: [String: [UInt8]] = [:]) {
            self.position = position
            self.members = members
        }
    }

    /// Returns the state of a trackable; `nil` if it is unknown.
    package var known: @Sendable (TrackableID) -> Known?
    /// The last known position of each trackable that has one.
    package var positions: @Sendable () -> [TrackableID: Location]
    /// The trackables with a known position or a present publisher.
    package var present: @Sendable () -> Set<TrackableID>
    /// Returns `true` while the broker is connected.
    package var isConnected: @Sendable () -> Bool
    /// The time since the broker last dropped a message; `nil` if it dropped none, or does not report drops.
    package var timeSinceDrop: @Sendable () -> Duration? = { nil }

    /// Makes a state. Without `present`, the trackables with a known position count as present.
    package init(
        known: @escaping @Sendable (TrackableID) -> Known?,
        positions: @escaping @Sendable () -> [TrackableID: Location],
        present: (@Sendable () -> Set<TrackableID>)? = nil, isConnected: @escaping @Sendable () -> Bool
    ) {
        self.known = known
        self.positions = positions
        self.present = present ?? { Set(positions().keys) }
        self.isConnected = isConnected
    }

    /// The state without a subscriber: no trackable is known.
    package static let none = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { false })
}
