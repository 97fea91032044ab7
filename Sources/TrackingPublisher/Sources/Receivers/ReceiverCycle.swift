import TrackingCore

/// The cycle that a source requests of a receiver: the time between two fixes.
enum ReceiverCycle {
    /// The upper limit of the cycle (the time between two fixes) that a source requests: 10 s. A receiver whose own
    /// shortest cycle is longer is asked for that one.
    static let longest: Duration = .seconds(10)
    /// The shortest cycle (time between two fixes) that a source requests of a receiver whose own shortest cycle is
    /// unknown.
    static let shortest: Duration = .milliseconds(200)

    /// Returns the cycle to request for a resolution: its desired interval, but at most ``longest``, and at least the
    /// receiver's shortest cycle even if that is longer.
    static func matching(_ resolution: Resolution, shortest: Duration = ReceiverCycle.shortest) -> Duration {
        min(max(resolution.desiredInterval, shortest), max(Self.longest, shortest))
    }
}
