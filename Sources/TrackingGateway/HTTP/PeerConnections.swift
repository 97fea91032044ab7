/// Counts the connections of each peer address, so that one peer cannot take all of them.
///
/// An IPv6 address counts with its network of 64 bits, as one subscriber has all of that.
struct PeerConnections: Sendable {
    /// The most connections of one address; `nil` for no limit.
    let limit: Int?
    private var counts: [String: Int] = [:]

    init(limit: Int?) { self.limit = limit }

    /// Counts one more connection of an address.
    ///
    /// - Returns: `false` where the address has as many as it may; nothing is counted then.
    mutating func opened(by peer: String) -> Bool {
        let count = self.counts[peer, default: 0]
        if let limit = self.limit, count >= limit { return false }
        self.counts[peer] = count + 1
        return true
    }

    /// Counts one connection of an address less.
    mutating func closed(by peer: String) {
        guard let count = self.counts[peer] else { return }
        self.counts[peer] = count > 1 ? count - 1 : nil
    }

    /// The name under which an IP address is counted: itself, or its network of 64 bits.
    ///
    /// - Parameter address: As the system writes it: `192.0.2.7`, `2001:db8::1`.
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
