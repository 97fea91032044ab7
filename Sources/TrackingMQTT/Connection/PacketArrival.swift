import TrackingCore

/// The arrival of an incomplete packet: the time since its last bytes.
///
/// After bytes were lost on the way, the packet's length covers the following packets, and the rest may never arrive.
struct PacketArrival {
    /// The time of the last progress; `nil` while no packet is incomplete, or reading is stopped.
    private var since: MonotonicTime?
    private var received = 0

    /// Notes that `received` bytes were read in total.
    mutating func looked(at received: Int, isIncomplete: Bool, isReading: Bool, now: MonotonicTime) {
        let isNew = received != self.received
        self.received = received
        guard isIncomplete, isReading else { return self.since = nil }
        if isNew || self.since == nil { self.since = now }
    }

    /// The time at which the rest of the packet counts as lost; `nil` while no packet is incomplete.
    func deadline(_ timeout: Duration) -> MonotonicTime? { self.since?.advanced(by: timeout) }
}
