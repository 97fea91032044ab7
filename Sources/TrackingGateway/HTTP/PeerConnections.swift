/// Counts the open connections of each client address, so that one client cannot use all of them.
///
/// IPv6 addresses of one 64-bit network are counted together, because one subscriber of an internet provider has the
/// whole network.
struct PeerConnections: Sendable {
    /// The largest number of connections from one client address; `nil` for no limit.
    let limit: Int?
    private var counts: [String: Int] = [:]

    init(limit: Int?) { self.limit = limit }

    /// Counts a new connection of a client address.
    ///
    /// - Returns: `false` if the address has reached its limit; the connection is not counted then.
    mutating func opened(by peer: String) -> Bool {
        let count = self.counts[peer, default: 0]
        if let limit = self.limit, count >= limit { return false }
        self.counts[peer] = count + 1
        return true
    }

    /// Removes a connection that has closed from the count of its client address.
    mutating func closed(by peer: String) {
        guard let count = self.counts[peer] else { return }
        self.counts[peer] = count > 1 ? count - 1 : nil
    }

    /// Returns the key under which the connections of a client address are counted: an IPv4 address itself, or the
    /// 64-bit network of an IPv6 address.
    ///
    /// - Parameter address: The address as the system writes it, such as `192.0.2.7` or `2001:db8::1`.
    static func peer(of address: String) -> String {
        if address.hasPrefix("::ffff:"), address.contains(".") { return String(address.dropFirst("::ffff:".count)) }
        guard address.contains(":") else { return address }
        let gap = address.firstRange(of: "::")
        let head = address[..<(gap?.lowerBound ?? address.endIndex)].split(separator: ":")
        let tail = gap.map { address[$0.upperBound...].split(separator: ":") } ?? []
        let zeros = Array(repeating: Substring("0"), count: gap == nil ? 0 : max(0, 8 - head.count - tail.count))
        return (head + zeros + tail).prefix(4).joined(separator: ":") + "::/64"
    }
}
