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
    /// The time at which the collection of retained positions ends. `nil` while there is no collection, or while its
    /// end is not known because the broker has not answered all subscriptions.
    private(set) var deadline: MonotonicTime?
    /// The trackables that have a position according to the program's history, and that were not compared with the
    /// broker's retained positions yet. They stay in the set when a connection ends.
    private var expected: Set<TrackableID> = []
    /// `true` once the positions that arrived on this connection were compared with the trackables that are watched. A
    /// later comparison leaves out the watched trackables.
    private var isCompared = false

    /// The number of trackables of which a position arrived since the connection was made.
    var count: Int { self.located?.count ?? 0 }

    /// `true` while the subscriber collects retained positions: from the beginning of a connection until the collection
    /// ends or the connection is lost.
    var isCollecting: Bool { self.located != nil }

    /// Adds trackables that had a position, by the program's history, to those of which the broker is expected to
    /// retain a position.
    ///
    /// - Parameter limit: The largest number of expected trackables. Further ones are ignored.
    mutating func expect(_ ids: [TrackableID], limit: Int) {
        self.expected.formUnion(ids.prefix(max(0, limit - self.expected.count)))
    }

    /// Returns the trackables that should have a position but have none. Afterwards, no trackable is expected to have
    /// one. The first comparison on a connection also includes each watched trackable.
    ///
    /// - Parameters:
    ///   - watched: The trackables that are watched.
    ///   - hasPosition: Returns `true` if a position of a trackable is known. While retained positions are being
    ///     collected, the arrived positions decide instead.
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

    /// Makes the collection of retained positions end no later than the duration `time` from now. An earlier end that
    /// is set already remains.
    mutating func end(within time: Duration, now: MonotonicTime) {
        guard self.located != nil else { return }
        let deadline = now.advanced(by: time)
        self.deadline = min(deadline, self.deadline ?? deadline)
    }

    /// Makes the collection of retained positions end when the duration `time` has passed from now. This end replaces
    /// any end that was set before.
    mutating func postpone(by time: Duration, now: MonotonicTime) {
        self.deadline = now.advanced(by: time)
    }

    /// Ends the collection of retained positions, and returns its result.
    ///
    /// - Returns: The trackables of which a position arrived; `nil` if no collection was in progress.
    mutating func ended() -> Set<TrackableID>? {
        self.deadline = nil
        return self.located.take()
    }
}
