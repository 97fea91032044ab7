package import TrackingCore

/// What the API tells of now: whoever listens to the broker gives it.
package struct LiveState: Sendable {
    /// What was heard of one trackable.
    package struct Known: Sendable {
        /// Where it is.
        package var position: Location?
        /// The other members that are known, by name: `state`, `presence`, `resolution`, `trip`, `clock`; each as
        /// JSON, as the live stream publishes it.
        package var members: [String: [UInt8]]

        /// Makes it.
        package init(position: Location? = nil, members: [String: [UInt8]] = [:]) {
            self.position = position
            self.members = members
        }
    }

    /// What was heard of a trackable; `nil` for nothing.
    package var known: @Sendable (TrackableID) -> Known?
    /// The last position of every trackable that one was heard of.
    package var positions: @Sendable () -> [TrackableID: Location]
    /// The trackables of which a position was heard, or whose publisher is there.
    package var present: @Sendable () -> Set<TrackableID>
    /// Whether the broker is connected.
    package var isConnected: @Sendable () -> Bool
    /// The time since the broker last dropped a message; `nil` where it dropped none, or does not say.
    package var timeSinceDrop: @Sendable () -> Duration? = { nil }

    /// Makes it; without `present` nobody is known to be there but those of which a position is known.
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

    /// Nobody listens.
    package static let none = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { false })
}
