import TrackingCore

/// The collection of the positions that the broker retains, which follows each connection of a subscriber.
///
/// The broker sends the retained positions after it has granted the subscriptions. At the end of the sweep, the
/// trackables with a received position are compared with those whose position was delivered earlier. A trackable
/// without a received position was cleared while the subscriber was not connected.
struct RetainedSweep: Sendable {
    /// The trackables of which a position arrived during the present sweep; `nil` while no sweep is in progress.
    private var located: Set<TrackableID>?
    /// The time at which the present sweep ends; `nil` while that is not known.
    private(set) var deadline: MonotonicTime?

    /// Begins to collect the retained positions, because the connection was made.
    mutating func connected() { (self.located, self.deadline) = ([], nil) }

    /// Cancels the collection of retained positions, because the connection was lost.
    mutating func disconnected() { (self.located, self.deadline) = (nil, nil) }

    /// Notes that a position of a trackable arrived, or that its retained position was cleared.
    ///
    /// - Parameters:
    ///   - isLocated: `true` if a position arrived; `false` if it was cleared.
    ///   - limit: The largest number of trackables that are remembered.
    mutating func note(_ id: TrackableID, isLocated: Bool, limit: Int) {
        guard let count = self.located?.count else { return }
        if !isLocated {
            self.located?.remove(id)
        } else if count < limit {
            self.located?.insert(id)
        }
    }

    /// Ends the present sweep after a time at the latest.
    mutating func end(within time: Duration, now: MonotonicTime) {
        guard self.located != nil else { return }
        let deadline = now.advanced(by: time)
        self.deadline = min(deadline, self.deadline ?? deadline)
    }

    /// Sets the end of the present sweep to a later time.
    mutating func postpone(by time: Duration, now: MonotonicTime) {
        self.deadline = now.advanced(by: time)
    }

    /// Ends the present sweep.
    ///
    /// - Returns: The trackables of which a position arrived; `nil` if no sweep was in progress.
    mutating func ended() -> Set<TrackableID>? {
        self.deadline = nil
        return self.located.take()
    }
}
