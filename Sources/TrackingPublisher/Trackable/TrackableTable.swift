import TrackingCore

/// The trackables of a publisher, tracked and dormant (in the log, but not tracked).
///
/// The table knows which trackables changed, so that only these are examined after an event.
struct TrackableTable: Sendable {
    private struct Entry: Sendable {
        var tracked: TrackableStateMachine?
        @Boxed var dormant: DormantTrackable?
    }

    /// The conditions of the publisher that affect every trackable, for example that the publisher is switched on, or
    /// is announced at the broker. When one of these conditions changes, the publisher examines all trackables.
    struct Conditions: Hashable, Sendable {
        var isOn: Bool
        var isAnnounced: Bool
        var isAlive: Bool
        var sendsByItself: Bool
        var isHolding: Bool
    }

    private var entries: [TrackableID: Entry] = [:]
    /// The publisher-wide conditions (such as the connection and the settings) under which all trackables were last
    /// examined; `nil` before the first time.
    private var conditions: Conditions?
    /// The names of the tracked trackables.
    private(set) var tracked: Set<TrackableID> = []
    /// The names of the trackables that were changed since ``takeTouched()`` was last called.
    private(set) var touched: Set<TrackableID> = []
    /// The number of recorded events of all trackables that were not published yet.
    private(set) var unsentEvents = 0

    /// `true` while the publisher tracks no trackable.
    var isEmpty: Bool { self.tracked.isEmpty }

    /// `true` while at least one trackable is dormant, that is, known from the log but not tracked.
    var hasDormant: Bool { self.entries.count > self.tracked.count }

    /// Returns `true` while the trackable with this id is tracked.
    func isTracked(_ id: TrackableID) -> Bool { self.tracked.contains(id) }

    /// The state machine of the tracked trackable with this id; `nil` if the trackable is not tracked.
    subscript(id: TrackableID) -> TrackableStateMachine? { self.entries[id]?.tracked }

    /// The state machines of all tracked trackables.
    var all: some Sequence<TrackableStateMachine> { self.tracked.lazy.compactMap { self.entries[$0]?.tracked } }

    /// The finest resolution in force of the trackables with requests, so that the capture records the positions that
    /// their subscribers expect; `nil` if no trackable has a request.
    var requested: CaptureFilter.Requested? {
        let requested = self.all.filter { $0.failure == nil && $0.resolution.isRequested }
        guard let first = requested.first?.resolution.damper.current else { return nil }
        return CaptureFilter.Requested(
            requested.reduce(first) { $0.finer(of: $1.resolution.damper.current) },
            rule: requested.allSatisfy { $0.trackable.filter == .both } ? .both : .either)
    }

    /// The stored states of all dormant trackables (known from the log, but not tracked), with their ids.
    var dormant: some Sequence<(id: TrackableID, trackable: DormantTrackable)> {
        self.entries.lazy.compactMap { id, entry in entry.dormant.map { (id, $0) } }
    }

    /// The ids of the dormant (not tracked) trackables for which the broker has not acknowledged the end of the last
    /// trip.
    var departed: [TrackableID] { self.dormant.filter { $0.trackable.departure != nil }.map(\.id) }

    /// Returns the trackables to examine after an event: those that were changed. If the publisher's state changed, all
    /// tracked trackables are examined, and all dormant ones with an unacknowledged end of a trip.
    ///
    /// - Parameter isDeferring: `true` if sending can be deferred. Then all tracked trackables are examined after each
    ///   event.
    mutating func concerned(
        by conditions: Conditions, isDeferring: Bool
    ) -> (tracked: [TrackableID], dormant: [TrackableID]) {
        let touched = Array(self.touched)
        guard conditions == self.conditions else {
            self.conditions = conditions
            return (Array(self.tracked), self.departed)
        }
        return (isDeferring ? Array(self.tracked) : touched, touched)
    }

    /// Returns the next time at which this tracked trackable has something to do; `nil` if it has nothing to do or is
    /// not tracked.
    func nextDeadline(of id: TrackableID, _ context: TrackableContext) -> MonotonicTime? {
        self.entries[id]?.tracked?.nextDeadline(context)
    }

    /// Returns the stored state of a dormant trackable (known from the log, but not tracked); `nil` if the trackable is
    /// tracked or not known.
    func dormant(_ id: TrackableID) -> DormantTrackable? { self.entries[id]?.dormant }

    /// The number of records in the log of all trackables, tracked and dormant.
    var recordCount: Int {
        let tracked = self.all.reduce(0) { $0 + $1.backlog.spool.queued }
        return self.dormant.reduce(tracked) { $0 + $1.trackable.count }
    }

    /// Returns the error of a request to track the trackable `id` in place of all others, because records of the others
    /// are not safe yet; `nil` if all are safe.
    func unsentError(besides id: TrackableID) -> TrackingError? {
        let pending = self.all.filter { $0.id != id && $0.backlog.unsafeCount > 0 }
        guard !pending.isEmpty else { return nil }
        let count = pending.reduce(0) { $0 + $1.backlog.unsafeCount }
        let names = pending.map { "'\($0.id)'" }.sorted().joined(separator: ", ")
        return TrackingError(
            .unsentPoints,
            "cannot track '\(id)': \(count) records of \(names) are not sent. Send or clear them first.")
    }

    /// Returns the state of each tracked trackable for callers, in order of name.
    func snapshots(_ configuration: PublisherConfiguration, at moment: Moment) -> [PublisherSnapshot.Trackable] {
        self.all.map { trackable in
            PublisherSnapshot.Trackable(
                id: trackable.id, state: trackable.status.reported.state, failure: trackable.failure,
                resolution: trackable.inForce(configuration), destination: trackable.trackable.destination,
                trip: trackable.trips.newest(at: moment))
        }.sorted { $0.id < $1.id }
    }

    /// Returns the number of the records in the log that wait for recorders, the time of their wait, and the recorders.
    /// Returns `nil` if no recorder is required, or if the log has no records.
    func unrecorded(by recording: SpoolStateMachine.Configuration, at moment: Moment) -> PublisherSnapshot.Unrecorded? {
        guard recording.needsRecorder else { return nil }
        let count = self.recordCount
        guard count > 0 else { return nil }
        let areDormant = self.dormant.contains { $0.trackable.count > 0 }
        let since = self.all.compactMap(\.backlog.spool.unrecordedSince).min()
        let wait = since.map { $0.duration(to: moment.now) } ?? .zero
        // A trackable is dormant with records in the log only where no recorder answers.
        return PublisherSnapshot.Unrecorded(
            count: count, wait: areDormant ? max(wait, RemoteSource.drainPause) : wait,
            recorders: recording.recorders.sorted())
    }

    /// Applies `change` to the state machine of a tracked trackable, and marks the trackable as changed.
    ///
    /// - Returns: The result of `change`; `nil` where the trackable is not tracked.
    @discardableResult
    mutating func change<Result>(
        _ id: TrackableID, _ change: (inout TrackableStateMachine) -> Result
    ) -> Result? {
        guard let place = self.entries.index(forKey: id),
            let before = self.entries.values[place].tracked?.unsent.count
        else { return nil }
        self.touched.insert(id)
        let result = change(&self.entries.values[place].tracked!)
        self.unsentEvents += (self.entries.values[place].tracked?.unsent.count ?? 0) - before
        return result
    }

    /// Applies `change` to the stored state of a dormant (not tracked) trackable, and marks the trackable as changed.
    ///
    /// - Returns: The result of `change`; `nil` where the trackable is tracked or not known.
    @discardableResult
    mutating func changeDormant<Result>(
        _ id: TrackableID, _ change: (inout DormantTrackable) -> Result
    ) -> Result? {
        guard let place = self.entries.index(forKey: id), self.entries.values[place].dormant != nil else { return nil }
        self.touched.insert(id)
        return change(&self.entries.values[place].dormant!)
    }

    /// Adds a tracked trackable in place of its stored dormant state.
    mutating func track(_ machine: TrackableStateMachine) {
        self.entries[machine.id] = Entry(tracked: machine, dormant: nil)
        self.tracked.insert(machine.id)
        self.touched.insert(machine.id)
        self.unsentEvents += machine.unsent.count
    }

    /// Makes a tracked trackable dormant: the table then has its stored state in place of a state machine.
    mutating func rest(_ id: TrackableID, as dormant: DormantTrackable) {
        self.unsentEvents -= self.entries[id]?.tracked?.unsent.count ?? 0
        self.entries[id] = Entry(tracked: nil, dormant: dormant)
        self.tracked.remove(id)
        self.touched.insert(id)
    }

    /// Returns the names of the trackables that were changed since the last call of this function.
    mutating func takeTouched() -> Set<TrackableID> {
        defer { self.touched = [] }
        return self.touched
    }
}
