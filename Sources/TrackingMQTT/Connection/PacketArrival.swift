import TrackingCore

/// Measures the time since the last bytes of an incomplete packet arrived.
///
/// After bytes were lost on the way, the length of a packet covers the following packets, and the rest of the packet
/// may never arrive.
struct PacketArrival {
    /// The time at which the last bytes of the incomplete packet arrived; `nil` while no packet is incomplete, or
    /// reading is stopped.
    private var since: MonotonicTime?
    private var received = 0

    /// Updates the measurement after reading: `received` bytes were read from the connection in total.
    mutating func looked(at received: Int, isIncomplete: Bool, isReading: Bool, now: MonotonicTime) {
        let isNew = received != self.received
        self.received = received
        guard isIncomplete, isReading else { return self.since = nil }
        if isNew || self.since == nil { self.since = now }
    }

    /// The time at which the rest of the packet counts as lost; `nil` while no packet is incomplete.
    func deadline(_ timeout: Duration) -> MonotonicTime? { self.since?.advanced(by: timeout) }
}
