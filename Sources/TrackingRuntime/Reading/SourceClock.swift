private import Glibc
package import TrackingCore

/// The clocks of the device. Only drivers look at them.
package enum SourceClock {
    /// The monotonic clock that goes on while the device sleeps.
    package static var now: MonotonicTime {
        let time = Self.read(CLOCK_BOOTTIME)
        return MonotonicTime(.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }

    /// The time of day.
    package static var unix: UnixTime {
        let time = Self.read(CLOCK_REALTIME)
        return UnixTime(Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
