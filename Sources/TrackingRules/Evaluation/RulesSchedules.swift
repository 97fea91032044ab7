import TrackingCore

/// Decides when the changes of a ``RulesStateMachine`` are written to the database. Only one transaction runs at a
/// time.
struct SaveSchedule: Sendable {
    /// The next step of the schedule: save nothing, repeat a failed save, or save new changes.
    enum Step {
        case nothing
        /// Save these changes again, because the previous attempt to save them failed.
        case again(RuleRows)
        /// Collect and save the changes since the last save.
        case changes
    }

    /// The time for which changes of the rules' state are collected before they are saved.
    static let batchInterval = Duration.milliseconds(50)
    /// The pause before changes whose saving failed are saved again.
    private static let retryInterval = Duration.seconds(1)

    private var due: MonotonicTime?
    /// The changes that are being saved in the database, or whose saving failed; `nil` for none.
    private var inFlight: RuleRows?
    /// The time at which a failed save is repeated; `nil` if no save has failed, or while the answer of the database is
    /// awaited.
    private var retry: MonotonicTime?
    private var opensOutbox = false
    private var inFlightOpensOutbox = false

    /// The time from which on ``begin(at:)`` returns changes to save; `nil` if no save is scheduled.
    var deadline: MonotonicTime? { self.inFlight == nil ? self.due : self.retry }

    /// Requests that changed rule states and new messages are saved ``batchInterval`` from now. A save that is already
    /// scheduled for an earlier time keeps its time.
    mutating func request(at now: MonotonicTime) { self.due = self.due ?? now.advanced(by: Self.batchInterval) }

    /// Requests that the changes are saved now, and that the outbox gate is opened once they are saved. Until the gate
    /// is open, no message of the outbox is delivered.
    mutating func requestAndOpen(at now: MonotonicTime) {
        self.due = now
        self.opensOutbox = true
    }

    /// Returns the save that must be performed at the given time: new changes, or changes whose saving failed. Returns
    /// `nothing` if no save is due.
    mutating func begin(at now: MonotonicTime) -> Step {
        guard let deadline = self.deadline, deadline <= now else { return .nothing }
        guard let inFlight = self.inFlight else { return .changes }
        self.retry = nil
        return .again(inFlight)
    }

    /// Begins a save of these changes, and remembers them until they are saved.
    mutating func began(_ rows: RuleRows) {
        self.inFlight = rows
        self.inFlightOpensOutbox = self.opensOutbox
        (self.due, self.opensOutbox) = (nil, false)
    }

    /// Ends a save without changes: nothing had to be written to the database.
    ///
    /// - Returns: `true` if the outbox gate is to be opened now, so that messages of the outbox are delivered.
    mutating func hadNothingToSave() -> Bool {
        defer { (self.due, self.opensOutbox) = (nil, false) }
        return self.opensOutbox
    }

    /// Ends a save, after the database has stored the changes.
    ///
    /// - Returns: `true` if the outbox gate is to be opened now, so that messages of the outbox are delivered.
    mutating func saved() -> Bool {
        defer { (self.inFlight, self.retry, self.inFlightOpensOutbox) = (nil, nil, false) }
        return self.inFlightOpensOutbox
    }

    /// Schedules the repetition of a save that failed.
    mutating func saveFailed(at now: MonotonicTime) {
        if self.inFlight != nil { self.retry = now.advanced(by: Self.retryInterval) }
    }

    /// Removes and returns the changes that were given to the database but are not known to be saved; `nil` for none.
    mutating func takeUnsaved() -> RuleRows? { self.inFlight.take() }
}

/// Decides when a running gateway reads its rules again after the database changed.
struct RuleReloading: Sendable {
    private static let retryInterval = Duration.seconds(1)

    /// The version number of the rules that the gateway has read last and applies.
    private(set) var version: Int64
    private var isLoading = false
    private var due: MonotonicTime?

    init(version: Int64) { self.version = version }

    /// The time at which ``begin(at:)`` returns `true`, so that the rules are read; `nil` for none.
    var deadline: MonotonicTime? { self.isLoading ? nil : self.due }

    /// Requests that the gateway reads the rules again if their version has changed, because a process wrote to the
    /// database. A request that comes during a reading causes another reading afterwards.
    mutating func databaseChanged(at now: MonotonicTime) { self.due = now }

    /// Returns `true` if the gateway must now read its rules from the database again. The reading then counts as begun.
    mutating func begin(at now: MonotonicTime) -> Bool {
        guard let deadline = self.deadline, deadline <= now else { return false }
        (self.isLoading, self.due) = (true, nil)
        return true
    }

    mutating func loaded(version: Int64, at now: MonotonicTime) { (self.version, self.isLoading) = (version, false) }

    mutating func loadingFailed(at now: MonotonicTime) {
        (self.isLoading, self.due) = (false, now.advanced(by: Self.retryInterval))
    }
}

/// Decides when the gateway looks for trackables that were cleared while it was not connected to the broker.
///
/// The gateway compares the trackables in its database with those of which the broker retains a position.
struct RetainedComparison: Sendable {
    private static let retryInterval = Duration.seconds(1)

    /// The trackables with a position at the broker: those whose retained position the broker sent, and those of which
    /// a position arrived afterwards. `nil` before all retained positions have arrived, and after the comparison has
    /// ended.
    private var retained: Set<TrackableID>?
    private var due: MonotonicTime?
    /// `true` after the first comparison of trackables with the positions at the broker since the start of the gateway.
    private(set) var hasCompared = false

    /// The time at which ``begin(at:)`` starts the comparison of trackables; `nil` for none.
    var deadline: MonotonicTime? { self.due }

    /// Requests that the trackables in the database are compared with those of which the broker retains a position. The
    /// gateway has received all these positions now.
    mutating func received(_ ids: Set<TrackableID>, at now: MonotonicTime) { (self.retained, self.due) = (ids, now) }

    /// Adds a trackable of which a position was received to the trackables with a position at the broker.
    mutating func received(_ id: TrackableID) { self.retained?.insert(id) }

    /// Starts the comparison if it is due: of the trackables in the database with those of which the broker retains a
    /// position. Returns the trackables with a position at the broker; `nil` if the comparison is not due.
    mutating func begin(at now: MonotonicTime) -> Set<TrackableID>? {
        guard let due = self.due, due <= now else { return nil }
        self.due = nil
        return self.retained
    }

    mutating func failed(at now: MonotonicTime) {
        if self.retained != nil { self.due = now.advanced(by: Self.retryInterval) }
    }

    /// Ends the comparison of the trackables in the database with those of which the broker retains a position. Returns
    /// the trackables with a position at the broker, including those of which a position arrived during the comparison.
    mutating func finish() -> Set<TrackableID> {
        self.hasCompared = true
        // If the retained positions of a new connection arrived during the comparison, they are compared next.
        defer { if self.due == nil { self.retained = nil } }
        return self.retained ?? []
    }
}

/// Decides when the gateway saves the cursor, the time up to which it has queued every message for webhooks. It saves
/// the cursor after each connection to the broker, after each reading of the history, once a minute, and before the
/// service ends.
struct QueueCursor: Sendable {
    /// `true` when the gateway was ever connected to the broker, in this run or an earlier one.
    private(set) var wasConnected: Bool
    /// `true` when the cursor, the time up to which every message was queued for webhooks, is to be saved.
    var isDue = false

    init(wasConnected: Bool) { self.wasConnected = wasConnected }

    mutating func connected() { (self.wasConnected, self.isDue) = (true, true) }

    /// Returns `true` if the cursor, the time up to which every message was queued for webhooks, is to be saved now.
    /// Further calls return `false` until another save is due.
    mutating func take() -> Bool {
        defer { self.isDue = false }
        return self.isDue && self.wasConnected
    }
}

/// The cleared trackables whose rows still have to be removed from the gateway's database. A trackable is cleared when
/// its retained position is removed at the broker.
struct ClearedTrackables: Sendable {
    private var all: Set<TrackableID> = []
    /// The trackables whose position a client cleared at the broker while the gateway was connected.
    var withdrawn: Set<TrackableID> = []
    /// The number of times that a retained position of any trackable was cleared since the gateway started.
    private(set) var count = 0

    mutating func insert(_ id: TrackableID) {
        self.all.insert(id)
        self.count += 1
    }

    /// Returns two sets of trackables whose retained position was cleared: all of them, and those among them that a
    /// client cleared while the gateway was connected. Both sets are then empty.
    mutating func takeAll() -> (all: Set<TrackableID>, withdrawn: Set<TrackableID>) {
        defer { (self.all, self.withdrawn) = ([], []) }
        return (self.all, self.withdrawn)
    }
}
