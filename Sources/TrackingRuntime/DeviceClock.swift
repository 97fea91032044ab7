private import Glibc
package import TrackingCore

/// Reads the device's clocks; the only place of the SDKs that does.
package struct DeviceClock: Sendable {
    private let origin = ContinuousClock.now

    package init() {}

    /// Both clocks, now.
    package var moment: Moment {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let wall = UnixTime(Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9)
        return Moment(now: MonotonicTime(self.origin.duration(to: .now)), wall: wall)
    }

    /// Sleeps until a moment of the monotonic clock; returns early when cancelled.
    package func sleep(until deadline: MonotonicTime) async {
        try? await Task.sleep(until: self.origin.advanced(by: deadline.sinceOrigin), clock: .continuous)
    }
}
