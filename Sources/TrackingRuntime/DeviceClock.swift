private import SystemLibrary
package import TrackingCore

/// The device's clocks: the only place of the library targets that reads them.
///
/// The monotonic clock has one origin in a process, the moment of its first reading, and goes on while the device
/// sleeps.
package struct DeviceClock: Sendable {
    private static let origin = ContinuousClock.now

    /// Makes a value for the clocks of this device; all values read the same clocks.
    package init() {}

    /// The monotonic clock.
    package static var now: MonotonicTime { MonotonicTime(Self.origin.duration(to: .now)) }

    /// The time of day, in seconds since 1970.
    package static var wall: UnixTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9)
    }

    /// Both clocks, read together.
    package var moment: Moment { Moment(now: Self.now, wall: Self.wall) }

    /// Sleeps until a moment of the monotonic clock. Returns early when the task is cancelled.
    package func sleep(until deadline: MonotonicTime) async {
        try? await Task.sleep(until: Self.origin.advanced(by: deadline.sinceOrigin), clock: .continuous)
    }
}
