/// The moment something happened, by both of the device's clocks. Drivers read them once an event.
public struct Moment: Hashable, Sendable {
    /// The monotonic clock.
    public var now: MonotonicTime
    /// The device's wall clock.
    public var wall: UnixTime

    /// Makes a moment.
    public init(now: MonotonicTime, wall: UnixTime) {
        self.now = now
        self.wall = wall
    }
}
