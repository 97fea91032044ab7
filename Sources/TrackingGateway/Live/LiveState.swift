package import TrackingCore

/// The current state of the trackables, as the gateway received it from the broker. The API routes read it through
/// these functions.
package struct LiveState: Sendable {
    /// The current state of one trackable: its last known position, and other known parts such as its trip.
    package struct Known: Sendable {
        /// The last known position of the trackable; `nil` for none.
        package var position: Location?
        /// The match of the last known position with a road; `nil` for none.
        package var enhancement: Enhancement?
        /// The other known parts of the state, by name. The names are `state` (the summary, such as `ONLINE`),
        /// `presence` (of the publisher), `resolution` (in force), `trip`, and `clock` (the device's clock is ahead).
        /// Each value is JSON text, as the live stream delivers it.
        package var members: [String: [UInt8]]
        /// The journey of the trackable and the estimated arrival times at its stops.
        package var progress: JourneyProgress

        /// Creates the current state of one trackable from its position and the other parts of the state.
        package init(
            position: Location? = nil, enhancement: Enhancement? = nil, members: [String: [UInt8]] = [:],
            progress: JourneyProgress = JourneyProgress()
        ) {
            self.position = position
            self.enhancement = enhancement
            self.members = members
            self.progress = progress
        }

        /// The publisher's text about the trackable, which is a part of its presence; `nil` if it has none.
        var metadata: String? {
            self.members["presence"].flatMap { try? JSONValue(json: $0) }?["metadata"]?.text
        }
    }

    /// Returns the current state of a trackable; `nil` if the gateway knows none.
    package var known: @Sendable (TrackableID) -> Known?
    /// Returns the last known position of each trackable that has one.
    package var positions: @Sendable () -> [TrackableID: Location]
    /// Returns the match with a road of each last known position that has one.
    package var enhancements: @Sendable () -> [TrackableID: Enhancement]
    /// Returns the journey of each trackable that has one.
    package var journeys: @Sendable () -> [TrackableID: Journey]
    /// Returns the trackables with a known position or a present publisher.
    package var present: @Sendable () -> Set<TrackableID>
    /// Returns `true` while the gateway is connected to the broker.
    package var isConnected: @Sendable () -> Bool
    /// Returns the time since the broker last dropped a message, by the broker's own count of dropped messages. `nil`
    /// if it dropped none, or does not publish the count.
    package var timeSinceDrop: @Sendable () -> Duration?

    /// The time for which the gateway reports that it is not ready after the broker dropped a message: 10 minutes.
    static let dropMemory = Duration.seconds(600)

    /// Creates the functions that read the current state of the trackables. If `present` is omitted, exactly the
    /// trackables with a known position count as present.
    package init(
        known: @escaping @Sendable (TrackableID) -> Known?,
        positions: @escaping @Sendable () -> [TrackableID: Location],
        enhancements: @escaping @Sendable () -> [TrackableID: Enhancement] = { [:] },
        journeys: @escaping @Sendable () -> [TrackableID: Journey] = { [:] },
        present: (@Sendable () -> Set<TrackableID>)? = nil, isConnected: @escaping @Sendable () -> Bool,
        timeSinceDrop: @escaping @Sendable () -> Duration? = { nil }
    ) {
        self.known = known
        self.positions = positions
        self.enhancements = enhancements
        self.journeys = journeys
        self.present = present ?? { Set(positions().keys) }
        self.isConnected = isConnected
        self.timeSinceDrop = timeSinceDrop
    }

    /// The live state of a gateway that does not subscribe to the broker: no trackable is known, and `isConnected`
    /// returns `false`.
    package static let none = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { false })
}
