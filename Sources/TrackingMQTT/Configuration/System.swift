import CMosquitto
import SystemLibrary
import TrackingCore

/// Functions that recognize numeric IP addresses.
enum NumericAddress {
    static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    /// Returns `true` for a numeric IPv4 or IPv6 address, which requires no name lookup.
    static func isNumeric(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1 || Self.isIPv6(text)
    }
}

enum LocalFile {
    static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }
}
