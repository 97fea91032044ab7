package import TrackingCore

/// The current state of the trackables as received from the broker, for the routes of the API.
package struct LiveState: Sendable {
    /// The current state of one trackable.
    package struct Known: Sendable {
        /// The last known position of the trackable; `nil` for none.
        package var position: Location?
        /// The other known parts of the state, by name: `state`, `presence`, `resolution`, `trip`, `clock`. Each is
        /// JSON text, as the live stream delivers it.
        package var members: [String: [UInt8]]

        /// Creates the state of one trackable.
        package init(position: Location? = nil, members: [String: [UInt8]] = [:]) {
            self.position = position
            self.members = members
        }
    }

    /// Returns the state of a trackable; `nil` if no message about it was received.
    package var known: @Sendable (TrackableID) -> Known?
    /// Returns the last known position of each trackable that has one.
    package var positions: @Sendable () -> [TrackableID: Location]
    /// Returns the trackables with a known position or a present publisher.
    package var present: @Sendable () -> Set<TrackableID>
    /// Returns `true` while the gateway is connected to the broker.
    package var isConnected: @Sendable () -> Bool
    /// Returns the time since the broker last dropped a message; `nil` if it dropped none, or does not report its
    /// count.
    package var timeSinceDrop: @Sendable () -> Duration? = { nil }

    /// Creates the functions that read the current state. Without `present`, the trackables with a known position count
    /// as present.
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

    /// The live state of a gateway without a subscriber: no trackable is known.
    package static let none = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { false })
}
