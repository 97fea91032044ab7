import CMosquitto
import Glibc
import TrackingCore

/// What is asked of the operating system in one line.
enum NumericAddress {
    static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    /// Whether `text` is an address that needs no looking up.
    static func isNumeric(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1 || Self.isIPv6(text)
    }
}

enum LocalFile {
    static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }
}

extension MonotonicTime {
    /// The clock that goes on while the device sleeps.
    static var current: MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
    }
}
