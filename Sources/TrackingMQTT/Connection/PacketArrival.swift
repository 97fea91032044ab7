import TrackingCore

/// The arrival of a packet that is not complete: how long nothing more of it has come.
///
/// After bytes were lost on the way, a length swallows the following packets, and the rest may never come.
struct PacketArrival {
    /// The time of the last progress; `nil` while no packet is incomplete, or nothing is read.
    private var since: MonotonicTime?
    private var received = 0

    /// Reading has come to `received` bytes in all.
    mutating func looked(at received: Int, isIncomplete: Bool, isReading: Bool, now: MonotonicTime) {
        let isNew = received != self.received
        self.received = received
        guard isIncomplete, isReading else { return self.since = nil }
        if isNew || self.since == nil { self.since = now }
    }

    /// The time at which the rest of the packet counts as lost; `nil` while none is awaited.
    func deadline(_ timeout: Duration) -> MonotonicTime? { self.since?.advanced(by: timeout) }
}
