import TrackingCore

/// Decides when the changes of a ``RulesStateMachine`` are written to the database, one transaction at a time.
struct SaveSchedule: Sendable {
    /// The next step of saving the rules' state.
    enum Step {
        case nothing
        /// Save these changes again, because saving them failed.
        case again(RuleRows)
        /// Collect and save the changes since the last save.
        case changes
    }

    /// The time for which changes of the rules' state are collected before they are saved.
    static let batchInterval = Duration.milliseconds(50)
    /// The pause before changes whose saving failed are saved again.
    private static let retryInterval = Duration.seconds(1)

    private var due: MonotonicTime?
    /// The changes that are being saved, or whose saving failed; `nil` for none.
    private var inFlight: RuleRows?
    /// The time at which the changes in flight are saved again; `nil` while the answer of the database is awaited.
    private var retry: MonotonicTime?
    private var opensOutbox = false
    private var inFlightOpensOutbox = false

    /// The time at which ``begin(at:)`` returns a step of saving; `nil` for none.
    var deadline: MonotonicTime? { self.inFlight == nil ? self.due : self.retry }

    /// Requests that the changes are saved within ``batchInterval``.
    mutating func request(at now: MonotonicTime) { self.due = self.due ?? now.advanced(by: Self.batchInterval) }

    /// Requests that the changes are saved now, and that the outbox gate is opened afterwards.
    mutating func requestAndOpen(at now: MonotonicTime) {
        self.due = now
        self.opensOutbox = true
    }

    /// Returns the step of saving that is due at the given time.
    mutating func begin(at now: MonotonicTime) -> Step {
        guard let deadline = self.deadline, deadline <= now else { return .nothing }
        guard let inFlight = self.inFlight else { return .changes }
        self.retry = nil
        return .again(inFlight)
    }

    /// Notes the changes that are being saved.
    mutating func began(_ rows: RuleRows) {
        self.inFlight = rows
        self.inFlightOpensOutbox = self.opensOutbox
        (self.due, self.opensOutbox) = (nil, false)
    }

    /// Ends a step of saving in which there were no changes.
    ///
    /// - Returns: `true` when the outbox gate is to be opened.
    mutating func hadNothingToSave() -> Bool {
        defer { (self.due, self.opensOutbox) = (nil, false) }
        return self.opensOutbox
    }

    /// Notes that the changes in flight were saved.
    ///
    /// - Returns: `true` when the outbox gate is to be opened.
    mutating func saved() -> Bool {
        defer { (self.inFlight, self.retry, self.inFlightOpensOutbox) = (nil, nil, false) }
        return self.inFlightOpensOutbox
    }

    /// Schedules another attempt to save the changes in flight.
    mutating func saveFailed(at now: MonotonicTime) {
        if self.inFlight != nil { self.retry = now.advanced(by: Self.retryInterval) }
    }

    /// Removes and returns the changes whose saving failed or was not answered; `nil` for none.
    mutating func takeUnsaved() -> RuleRows? { self.inFlight.take() }
}

/// Decides when a running gateway reads its rules again after the database changed.
struct RuleReloading: Sendable {
    private static let retryInterval = Duration.seconds(1)

    /// The version number of the rules that the gateway applies.
    private(set) var version: Int64
    private var isLoading = false
    private var due: MonotonicTime?

    init(version: Int64) { self.version = version }

    /// The time at which ``begin(at:)`` returns `true`, so that the rules are read; `nil` for none.
    var deadline: MonotonicTime? { self.isLoading ? nil : self.due }

    /// Requests that the version of the rules is read. A write to the database during that reading requests another
    /// one.
    mutating func databaseChanged(at now: MonotonicTime) { self.due = now }

    /// Returns `true` when the rules are to be read now.
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

/// Decides when the trackables in the gateway's database are compared with those of which the broker retains a
/// position, to find trackables that were cleared while the gateway was not connected.
struct RetainedComparison: Sendable {
    private static let retryInterval = Duration.seconds(1)

    /// The trackables with a position at the broker, retained or received since; `nil` when no comparison is
    /// outstanding.
    private var retained: Set<TrackableID>?
    private var due: MonotonicTime?
    /// `true` after the first comparison since the start of the gateway.
    private(set) var hasCompared = false

    /// The time at which ``begin(at:)`` returns the trackables to compare with; `nil` for none.
    var deadline: MonotonicTime? { self.due }

    /// Requests a comparison, because all positions that the broker retains were received.
    mutating func received(_ ids: Set<TrackableID>, at now: MonotonicTime) { (self.retained, self.due) = (ids, now) }

    /// Notes that a position of a trackable was received.
    mutating func received(_ id: TrackableID) { self.retained?.insert(id) }

    /// Returns the trackables with a position at the broker when a comparison with them is due; otherwise `nil`.
    mutating func begin(at now: MonotonicTime) -> Set<TrackableID>? {
        guard let due = self.due, due <= now else { return nil }
        self.due = nil
        return self.retained
    }

    mutating func failed(at now: MonotonicTime) {
        if self.retained != nil { self.due = now.advanced(by: Self.retryInterval) }
    }

    /// Ends the comparison, and returns the trackables with a position at the broker, including those received during
    /// the comparison.
    mutating func finish() -> Set<TrackableID> {
        self.hasCompared = true
        // If the retained positions of a new connection arrived during the comparison, they are compared next.
        defer { if self.due == nil { self.retained = nil } }
        return self.retained ?? []
    }
}

/// Decides when the cursor is saved: the time up to which every message was queued for webhooks. It is saved after each
/// connection, after each reading of the history, and once a minute.
struct QueueCursor: Sendable {
    /// `true` when the gateway was ever connected to the broker, in this run or an earlier one.
    private(set) var wasConnected: Bool
    /// `true` when the cursor is to be saved.
    var isDue = false

    init(wasConnected: Bool) { self.wasConnected = wasConnected }

    mutating func connected() { (self.wasConnected, self.isDue) = (true, true) }

    /// Returns `true` when the cursor is to be saved now, and then considers it saved.
    mutating func take() -> Bool {
        defer { self.isDue = false }
        return self.isDue && self.wasConnected
    }
}

/// The trackables whose positions were cleared and whose rows were not removed from the database yet.
struct ClearedTrackables: Sendable {
    private var all: Set<TrackableID> = []
    /// The trackables whose position a client cleared at the broker while the gateway was connected.
    var withdrawn: Set<TrackableID> = []
    /// The number of cleared trackables since the start of the gateway; a trackable that is cleared again counts again.
    private(set) var count = 0

    mutating func insert(_ id: TrackableID) {
        self.all.insert(id)
        self.count += 1
    }

    /// Removes and returns the cleared trackables: all of them, and those that a client cleared at the broker.
    mutating func takeAll() -> (all: Set<TrackableID>, withdrawn: Set<TrackableID>) {
        defer { (self.all, self.withdrawn) = ([], []) }
        return (self.all, self.withdrawn)
    }
}
