import TrackingCore

/// Batches the changes of a ``RulesStateMachine`` into one transaction at a time.
struct SaveSchedule: Sendable {
    /// The next step.
    enum Step {
        case nothing
        /// Save the rows whose saving failed.
        case again(RuleRows)
        /// Save the changes.
        case changes
    }

    /// The time for which changes are collected before they are saved.
    static let batchInterval = Duration.milliseconds(50)
    /// The pause after a failure.
    private static let retryInterval = Duration.seconds(1)

    private var due: MonotonicTime?
    private var inFlight: RuleRows?
    /// The time to save the rows in flight again; `nil` while their saving is awaited.
    private var retry: MonotonicTime?
    private var opensOutbox = false
    private var inFlightOpensOutbox = false

    /// The time at which ``begin(at:)`` returns a step; `nil` for none.
    var deadline: MonotonicTime? { self.inFlight == nil ? self.due : self.retry }

    /// Requests that changes are saved within ``batchInterval``.
    mutating func request(at now: MonotonicTime) { self.due = self.due ?? now.advanced(by: Self.batchInterval) }

    /// Requests that changes are saved now, and that the outbox is opened afterwards.
    mutating func requestAndOpen(at now: MonotonicTime) {
        self.due = now
        self.opensOutbox = true
    }

    /// Returns the step that is due.
    mutating func begin(at now: MonotonicTime) -> Step {
        guard let deadline = self.deadline, deadline <= now else { return .nothing }
        guard let inFlight = self.inFlight else { return .changes }
        self.retry = nil
        return .again(inFlight)
    }

    /// Notes the rows that are being saved.
    mutating func began(_ rows: RuleRows) {
        self.inFlight = rows
        self.inFlightOpensOutbox = self.opensOutbox
        (self.due, self.opensOutbox) = (nil, false)
    }

    /// Ends a step without changes.
    ///
    /// - Returns: `true` when the outbox is to be opened.
    mutating func hadNothingToSave() -> Bool {
        defer { (self.due, self.opensOutbox) = (nil, false) }
        return self.opensOutbox
    }

    /// Ends the saving of the rows in flight.
    ///
    /// - Returns: `true` when the outbox is to be opened.
    mutating func saved() -> Bool {
        defer { (self.inFlight, self.retry, self.inFlightOpensOutbox) = (nil, nil, false) }
        return self.inFlightOpensOutbox
    }

    /// Schedules the rows in flight to be saved again.
    mutating func saveFailed(at now: MonotonicTime) {
        if self.inFlight != nil { self.retry = now.advanced(by: Self.retryInterval) }
    }

    /// Returns the rows whose saving failed, and removes them.
    mutating func takeUnsaved() -> RuleRows? { self.inFlight.take() }
}

/// Schedules the reading of changed rules.
struct RuleReloading: Sendable {
    private static let retryInterval = Duration.seconds(1)

    /// The version of the rules in force.
    private(set) var version: Int64
    private var isLoading = false
    private var due: MonotonicTime?

    init(version: Int64) { self.version = version }

    /// The time at which ``begin(at:)`` returns `true`; `nil` for none.
    var deadline: MonotonicTime? { self.isLoading ? nil : self.due }

    /// Requests a look at the version. A write during a look requests another one.
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

/// Schedules the comparison of the saved trackables with those of which the broker retains a position.
struct RetainedComparison: Sendable {
    private static let retryInterval = Duration.seconds(1)

    /// The trackables with a retained position, or a position received since; `nil` when nothing is to be compared.
    private var retained: Set<TrackableID>?
    private var due: MonotonicTime?
    /// `true` after the first comparison since the start.
    private(set) var hasCompared = false

    /// The time at which ``begin(at:)`` returns the trackables; `nil` for none.
    var deadline: MonotonicTime? { self.due }

    /// All retained positions were received.
    mutating func received(_ ids: Set<TrackableID>, at now: MonotonicTime) { (self.retained, self.due) = (ids, now) }

    /// A position was received.
    mutating func received(_ id: TrackableID) { self.retained?.insert(id) }

    /// Returns the trackables to compare with, when a comparison is due.
    mutating func begin(at now: MonotonicTime) -> Set<TrackableID>? {
        guard let due = self.due, due <= now else { return nil }
        self.due = nil
        return self.retained
    }

    mutating func failed(at now: MonotonicTime) {
        if self.retained != nil { self.due = now.advanced(by: Self.retryInterval) }
    }

    /// Ends the comparison, and returns the trackables with a position.
    mutating func finish() -> Set<TrackableID> {
        self.hasCompared = true
        // Retained positions that arrived during the comparison are compared next.
        defer { if self.due == nil { self.retained = nil } }
        return self.retained ?? []
    }
}

/// The time up to which everything that happened was queued for webhooks. It is saved after each connection, after each reading
/// of the history, and once a minute.
struct QueueCursor: Sendable {
    /// `true` when the gateway, or an earlier run of it, was connected to the broker.
    private(set) var wasConnected: Bool
    /// `true` when the cursor is to be saved.
    var isDue = false

    init(wasConnected: Bool) { self.wasConnected = wasConnected }

    mutating func connected() { (self.wasConnected, self.isDue) = (true, true) }

    /// Returns `true` when the cursor is to be saved now.
    mutating func take() -> Bool {
        defer { self.isDue = false }
        return self.isDue && self.wasConnected
    }
}

/// The trackables whose positions were cleared and not yet removed from the database.
struct ClearedTrackables: Sendable {
    private var all: Set<TrackableID> = []
    /// The trackables that somebody cleared at the broker while the gateway was connected.
    var withdrawn: Set<TrackableID> = []
    /// The number of clearings since the start.
    private(set) var count = 0

    mutating func insert(_ id: TrackableID) {
        self.all.insert(id)
        self.count += 1
    }

    /// Returns all trackables and the withdrawn ones, and removes them.
    mutating func takeAll() -> (all: Set<TrackableID>, withdrawn: Set<TrackableID>) {
        defer { (self.all, self.withdrawn) = ([], []) }
        return (self.all, self.withdrawn)
    }
}
