import TrackingCore

/// Decides when a log that was closed for damage is opened again, and how long records wait for one that cannot be.
struct LogOutage: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Between two tries to open it.
    static let pause: Duration = .seconds(10)
    /// How long records wait. Then they are given up, so that the live lane goes on.
    static let patience: Duration = .seconds(60)
    /// How many bytes of records wait, about.
    static let maximumBytes = 16 << 20
    /// What a record takes beside its payload, about.
    private static let overhead = 200

    /// See ``pause``; shorter in tests.
    let pause: Duration
    private var closedSince: Instant?
    private var lastTry: Instant?
    private var isAlarmDue = false
    /// Why it could not be opened the last time.
    private(set) var error: TrackingError?

    init(pause: Duration = LogOutage.pause) { self.pause = pause }

    /// Whether nothing can be asked of the log.
    var isClosed: Bool { self.closedSince != nil }

    /// Somebody wants it to be opened again.
    ///
    /// - Returns: Whether that is tried: not more often than once a ``pause``, unless it is the last chance.
    mutating func mayTry(isLast: Bool = false, now: Instant) -> Bool {
        if !isLast, let lastTry = self.lastTry, now < lastTry.advanced(by: self.pause) { return false }
        self.lastTry = now
        return true
    }

    /// It is open again.
    mutating func opened() {
        self.closedSince = nil
        self.error = nil
    }

    /// It could not be opened.
    ///
    /// - Returns: Whether that is to be told: it is new.
    mutating func failed(_ error: TrackingError, now: Instant) -> Bool {
        defer { self.error = error }
        self.closedSince = self.closedSince ?? now
        self.isAlarmDue = true
        return error != self.error
    }

    /// Whether somebody is to wake the worker after a ``pause``, though nothing is asked: once after each failure.
    mutating func takeAlarm() -> Bool {
        defer { self.isAlarmDue = false }
        return self.isAlarmDue
    }

    /// How many of these records, the first, wait until it is open.
    func patience(with entries: [SpoolEntry], now: Instant) -> Int {
        guard let closedSince = self.closedSince, now < closedSince.advanced(by: Self.patience) else { return 0 }
        var bytes = 0
        return entries.prefix { entry in
            bytes += entry.record.payload.count + Self.overhead
            return bytes <= Self.maximumBytes
        }.count
    }
}
