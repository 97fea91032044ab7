import TrackingCore

/// A sweep: the collection of all positions that the broker retains, after each new connection of a subscriber.
///
/// The broker sends the retained positions after it has granted the subscriptions. At the end of the sweep, the
/// subscriber knows which trackables have a retained position. If a position was delivered earlier and none is retained
/// now, it was cleared while the subscriber was not connected.
struct RetainedSweep: Sendable {
    /// The trackables of which a position arrived since the connection was made; `nil` while no retained positions are
    /// being collected.
    private var located: Set<TrackableID>?
    /// The time at which the collection of retained positions ends; `nil` while that time is not set.
    private(set) var deadline: MonotonicTime?
    /// The trackables that had a position, by the program's history, and that were not compared with the positions at
    /// the broker yet. They remain expected across connections.
    private var expected: Set<TrackableID> = []
    /// `true` once the received positions were compared with the trackables that should have one.
    private var isCompared = false

    /// The number of trackables of which a position arrived since the connection was made.
    var count: Int { self.located?.count ?? 0 }

    /// `true` while retained positions are being collected.
    var isCollecting: Bool { self.located != nil }

    /// Adds trackables that had a position, by the program's history.
    ///
    /// - Parameter limit: The largest number of expected trackables. Further ones are ignored.
    mutating func expect(_ ids: [TrackableID], limit: Int) {
        self.expected.formUnion(ids.prefix(max(0, limit - self.expected.count)))
    }

    /// Compares the expected trackables with the received positions, and expects them no longer. The first comparison
    /// after a connection includes the watched trackables.
    ///
    /// - Parameters:
    ///   - watched: The trackables that are watched.
    ///   - hasPosition: Returns `true` if a position of a trackable is known. It decides while no retained positions are
    ///     being collected.
    /// - Returns: The trackables without a position.
    mutating func takeMissing(
        watched: some Sequence<TrackableID>, _ hasPosition: (TrackableID) -> Bool
    ) -> Set<TrackableID> {
        defer { self.expected = [] }
        guard let located = self.located else { return self.expected.filter { !hasPosition($0) } }
        defer { self.isCompared = true }
        return (self.isCompared ? self.expected : self.expected.union(watched)).subtracting(located)
    }

    /// Begins to collect the positions that the broker retains, because a connection was made.
    mutating func connected() { (self.located, self.deadline, self.isCompared) = ([], nil, false) }

    /// Cancels the collection of the positions that the broker retains, because the connection was lost.
    mutating func disconnected() { (self.located, self.deadline) = (nil, nil) }

    /// Adds a trackable to those of which a position arrived, or removes it because its retained position was cleared.
    /// Does nothing while no retained positions are being collected.
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

    /// Sets the end of the collection of retained positions to at most `time` from now. An earlier end that is set
    /// already remains.
    mutating func end(within time: Duration, now: MonotonicTime) {
        guard self.located != nil else { return }
        let deadline = now.advanced(by: time)
        self.deadline = min(deadline, self.deadline ?? deadline)
    }

    /// Sets the end of the collection of retained positions to `time` from now, even if an earlier end was set.
    mutating func postpone(by time: Duration, now: MonotonicTime) {
        self.deadline = now.advanced(by: time)
    }

    /// Ends the collection of retained positions.
    ///
    /// - Returns: The trackables of which a position arrived; `nil` if no collection was in progress.
    mutating func ended() -> Set<TrackableID>? {
        self.deadline = nil
        return self.located.take()
    }
}
