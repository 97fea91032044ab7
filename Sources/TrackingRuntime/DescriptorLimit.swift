private import SystemLibrary

/// The number of files and connections that this program may have open: the system's `RLIMIT_NOFILE`.
package enum DescriptorLimit {
    /// The number of file descriptors that a server reserves for everything except its client connections: databases,
    /// the broker, event loops.
    package static let reserve = 200
    /// The smallest number of connections that a server accepts, even if the system permits fewer descriptors.
    package static let minimumConnections = 16

    /// The number of file descriptors that this program may have open now; 1024 if the system does not report it.
    package static var current: Int { Self.limits.map { Int(clamping: $0.rlim_cur) } ?? 1024 }

    /// Raises the number of file descriptors that this program may have open to the system's hard limit. If the system
    /// refuses, the number remains unchanged.
    package static func raise() {
        guard var limits = Self.limits, limits.rlim_cur < limits.rlim_max else { return }
        limits.rlim_cur = limits.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    }

    /// Returns the number of connections that a server may have open at once: `limit` minus ``reserve``, but at least
    /// ``minimumConnections`` and at most `maximum`.
    ///
    /// - Parameters:
    ///   - limit: The number of file descriptors that the program may have open.
    ///   - maximum: The maximum number of connections.
    package static func connections(within limit: Int, atMost maximum: Int) -> Int {
        min(maximum, max(Self.minimumConnections, limit - Self.reserve))
    }

    private static var limits: rlimit? {
        var limits = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 else { return nil }
        return limits
    }
}
