import TrackingCore

/// The trackables whose fixes an enhancer remembers, with their deadlines, within a limit of their number and of their
/// size in memory.
struct EnhancedFleet: Sendable {
    private var trackables: [TrackableID: TrackableEnhancer] = [:]
    private var deadlines = DeadlineQueue<TrackableID>()
    /// The times at which trackables without fixes are forgotten.
    private var idle = DeadlineQueue<TrackableID>()
    /// The approximate size of the trackables in memory.
    private(set) var bytes = 0

    /// The number of the remembered trackables.
    var count: Int { self.trackables.count }

    /// The ids of the remembered trackables.
    var ids: [TrackableID] { self.trackables.keys.sorted() }

    /// The earliest time at which a fix must be published or a trackable is forgotten; `nil` without trackables.
    var nextDeadline: MonotonicTime? { [self.deadlines.next, self.idle.next].compactMap(\.self).min() }

    /// Returns the state of a remembered trackable.
    subscript(id: TrackableID) -> TrackableEnhancer? { self.trackables[id] }

    /// Returns `true` for a remembered trackable.
    func contains(_ id: TrackableID) -> Bool { self.trackables.index(forKey: id) != nil }

    /// `true` if no further trackable has room.
    var isFull: Bool {
        self.count >= EnhancerConfiguration.maximumTrackables || self.bytes > EnhancerConfiguration.maximumBytes
    }

    /// Returns the trackables without fixes for the longest time, which are forgotten first.
    mutating func popOldest() -> [TrackableID] { self.idle.next.map { self.idle.popExpired(now: $0) } ?? [] }

    /// Remembers a trackable from its first fix on, and notes the time of each fix.
    mutating func saw(_ id: TrackableID, now: MonotonicTime) {
        if !self.contains(id) {
            let trackable = TrackableEnhancer()
            self.bytes += trackable.bytes
            self.trackables[id] = trackable
        }
        self.idle.set(id, deadline: now.advanced(by: EnhancerConfiguration.idleTime))
    }

    /// Changes the state of a remembered trackable in its place, without a copy, and returns the result; `nil` for
    /// another trackable.
    mutating func change<Result>(_ id: TrackableID, _ body: (inout TrackableEnhancer) -> Result) -> Result? {
        guard let index = self.trackables.index(forKey: id) else { return nil }
        self.bytes -= self.trackables.values[index].bytes
        let result = body(&self.trackables.values[index])
        self.bytes += self.trackables.values[index].bytes
        self.deadlines.keep(id, at: self.trackables.values[index].deadline)
        return result
    }

    /// Removes and returns the trackables with a fix that must be published now.
    mutating func popDue(now: MonotonicTime) -> [TrackableID] { self.deadlines.popExpired(now: now) }

    /// Removes and returns the trackables that had no fix for ``EnhancerConfiguration/idleTime``.
    mutating func popIdle(now: MonotonicTime) -> [TrackableID] { self.idle.popExpired(now: now) }

    /// Forgets a trackable.
    mutating func forget(_ id: TrackableID) {
        guard let trackable = self.trackables.removeValue(forKey: id) else { return }
        self.bytes -= trackable.bytes
        self.deadlines.remove(id)
        self.idle.remove(id)
    }
}
