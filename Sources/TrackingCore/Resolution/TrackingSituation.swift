/// The situation of a trackable and its device at one moment: the last position, the speed, the time and the connection.
///
/// ``DefaultResolutionPolicy`` ignores it. A policy of your own can depend on it.
public struct TrackingSituation: Hashable, Sendable {
    /// The last fix of the receiver, recorded or not, after the privacy zones were applied; `nil` before the first one.
    public var location: Location?
    /// The speed during the last 30 s, in metres a second; `nil` while it is unknown or below 0.5 m/s.
    public var speed: Double?
    /// The time (UTC) at which the resolution is decided; `nil` while the device's clock is not set and no receiver has
    /// sent a time.
    public var time: UnixTime?
    /// `true` while the publisher is connected to the broker.
    public var isConnected: Bool

    /// Makes a situation. Without arguments, nothing is known and there is no connection.
    public init(
        location: Location? = nil, speed: Double? = nil, time: UnixTime? = nil, isConnected: Bool = false
    ) {
        self.location = location
        self.speed = speed
        self.time = time
        self.isConnected = isConnected
    }
}
