/// One moment as the time on both of the device's clocks. Drivers read the clocks once for each event.
public struct Moment: Hashable, Sendable {
    /// The time on the monotonic clock.
    public var now: MonotonicTime
    /// The time on the device's wall clock.
    public var wall: UnixTime

    /// Makes a moment.
    public init(now: MonotonicTime, wall: UnixTime) {
        self.now = now
        self.wall = wall
    }
}
