package import TrackingCore

/// What the API tells of now: whoever listens to the broker gives it.
package struct LiveState: Sendable {
    /// What was heard of one trackable.
    package struct Known: Sendable {
        /// Where it is.
        package var position: Location?
        /// What else stands, by what it is: `state`, `presence`, `resolution`, `trip`; each as JSON, as the live stream tells it.
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
    /// Whether the broker is connected.
    package var isConnected: @Sendable () -> Bool

    /// Makes it.
    package init(
        known: @escaping @Sendable (TrackableID) -> Known?,
        positions: @escaping @Sendable () -> [TrackableID: Location], isConnected: @escaping @Sendable () -> Bool
    ) {
        self.known = known
        self.positions = positions
        self.isConnected = isConnected
    }

    /// Nobody listens.
    package static let none = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { false })
}
