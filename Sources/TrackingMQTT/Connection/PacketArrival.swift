import TrackingCore

/// Measures how long the rest of an incomplete packet has been missing.
///
/// If bytes were lost on the way, the announced length of a packet reaches into the packets behind it. Its rest may
/// then never arrive, and only a timeout detects that.
struct PacketArrival {
    /// The time at which the last bytes of an incomplete packet arrived; `nil` while no packet is incomplete, or while
    /// the client reads nothing.
    private var since: MonotonicTime?
    private var received = 0

    /// Notes the time at which bytes of an incomplete packet last arrived. Call this method after each read.
    ///
    /// - Parameter received: The number of bytes that were read from the connection in total.
    mutating func looked(at received: Int, isIncomplete: Bool, isReading: Bool, now: MonotonicTime) {
        let isNew = received != self.received
        self.received = received
        guard isIncomplete, isReading else { return self.since = nil }
        if isNew || self.since == nil { self.since = now }
    }

    /// The time at which the client gives up the rest of an incomplete packet: `timeout` after the packet's last
    /// received bytes. `nil` while no packet is incomplete, or while the client reads nothing.
    func deadline(_ timeout: Duration) -> MonotonicTime? { self.since?.advanced(by: timeout) }
}
