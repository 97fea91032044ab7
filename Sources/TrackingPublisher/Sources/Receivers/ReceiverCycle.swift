import TrackingCore

/// The cycle that a receiver is asked for: how often it is to make a fix.
enum ReceiverCycle {
    /// The longest cycle asked for: what the receivers that can be slowed have in common.
    static let longest: Duration = .seconds(10)
    /// The shortest cycle asked for where nothing is known of the receiver.
    static let shortest: Duration = .milliseconds(200)

    /// The desired interval, brought between what the receiver can do and ``longest``.
    static func matching(_ resolution: Resolution, shortest: Duration = ReceiverCycle.shortest) -> Duration {
        min(max(resolution.desiredInterval, shortest), max(Self.longest, shortest))
    }
}
