private import SystemLibrary
package import TrackingCore

/// Reads the monotonic clock and the wall clock of this device.
///
/// The monotonic clock counts from its first reading in the process. It also advances while the device sleeps.
package struct DeviceClock: Sendable {
    private static let origin = ContinuousClock.now

    /// Creates access to the device's clocks. All instances read the same clocks.
    package init() {}

    /// The present time on the device's monotonic clock.
    package static var now: MonotonicTime { MonotonicTime(Self.origin.duration(to: .now)) }

    /// The present time on the device's wall clock, as Unix time in seconds.
    package static var wall: UnixTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UnixTime(Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9)
    }

    /// The present time on both clocks, monotonic and wall clock, read together.
    package var moment: Moment { Moment(now: Self.now, wall: Self.wall) }

    /// Sleeps until `deadline` on the monotonic clock. Returns early when the task is cancelled.
    package func sleep(until deadline: MonotonicTime) async {
        try? await Task.sleep(until: Self.origin.advanced(by: deadline.sinceOrigin), clock: .continuous)
    }
}
