/// One moment in time, as read on both of the device's clocks: the monotonic clock and the wall clock. Both are read
/// once for each event.
public struct Moment: Hashable, Sendable {
    /// The time on the monotonic clock, which never goes back.
    public var now: MonotonicTime
    /// The time on the device's wall clock, which may be set forward or back.
    public var wall: UnixTime

    /// Makes a moment from its times on the monotonic clock and on the wall clock.
    public init(now: MonotonicTime, wall: UnixTime) {
        self.now = now
        self.wall = wall
    }
}
