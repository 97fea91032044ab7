import TrackingCore

/// The sweep over the broker's retained positions that follows each connection.
///
/// The broker sends the retained positions after it has granted the subscriptions. At the end of the sweep the
/// trackables of which a position arrived are compared with those of which one was delivered earlier: the difference
/// was cleared meanwhile.
struct RetainedSweep: Sendable {
    /// The trackables with a received position; `nil` outside of a sweep.
    private var located: Set<TrackableID>?
    /// The end of the sweep; `nil` while that is not known.
    private(set) var deadline: MonotonicTime?

    /// Begins a sweep, because the connection was made.
    mutating func connected() { (self.located, self.deadline) = ([], nil) }

    /// Cancels the sweep, because the connection was lost.
    mutating func disconnected() { (self.located, self.deadline) = (nil, nil) }

    /// A position arrived, or the retained position was cleared.
    ///
    /// - Parameter limit: The highest number of trackables that are remembered.
    mutating func note(_ id: TrackableID, isLocated: Bool, limit: Int) {
        guard let count = self.located?.count else { return }
        if !isLocated {
            self.located?.remove(id)
        } else if count < limit {
            self.located?.insert(id)
        }
    }

    /// Ends the sweep after a time, unless it ends earlier.
    mutating func end(within time: Duration, now: MonotonicTime) {
        guard self.located != nil else { return }
        let deadline = now.advanced(by: time)
        self.deadline = min(deadline, self.deadline ?? deadline)
    }

    /// Postpones the end of a sweep that is due.
    mutating func postpone(by time: Duration, now: MonotonicTime) {
        self.deadline = now.advanced(by: time)
    }

    /// Ends a sweep that is due.
    ///
    /// - Returns: The trackables with a received position; `nil` if no sweep was in progress.
    mutating func ended() -> Set<TrackableID>? {
        self.deadline = nil
        return self.located.take()
    }
}
