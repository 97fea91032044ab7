import TrackingCore

/// The cycle that a source requests of a receiver: the time between two fixes.
enum ReceiverCycle {
    /// The longest cycle that is requested, which every receiver with an adjustable cycle supports.
    static let longest: Duration = .seconds(10)
    /// The shortest cycle that is requested when the limits of the receiver are unknown.
    static let shortest: Duration = .milliseconds(200)

    /// Returns the cycle to request for a resolution: its desired interval, but at least the receiver's shortest cycle
    /// and at most ``longest``.
    static func matching(_ resolution: Resolution, shortest: Duration = ReceiverCycle.shortest) -> Duration {
        min(max(resolution.desiredInterval, shortest), max(Self.longest, shortest))
    }
}
