import TrackingCore

/// Decides when a damaged log that was closed is opened again, and how long records wait for it.
struct LogOutage: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The time between two attempts to open the log.
    static let pause: Duration = .seconds(10)
    /// The longest time that records wait. After it they are given up, so that the live lane continues.
    static let patience: Duration = .seconds(60)
    /// The approximate limit of the waiting records, in bytes.
    static let maximumBytes = 16 << 20
    /// The approximate size of a record in addition to its payload, in bytes.
    private static let overhead = 200

    /// The time between two attempts, which is shorter in tests than ``pause``.
    let pause: Duration
    private var closedSince: Instant?
    private var lastTry: Instant?
    private var isAlarmDue = false
    /// The reason that the last attempt failed.
    private(set) var error: TrackingError?

    init(pause: Duration = LogOutage.pause) { self.pause = pause }

    /// `true` while the log is closed.
    var isClosed: Bool { self.closedSince != nil }

    /// The worker requests another attempt.
    ///
    /// - Returns: `true` when the attempt is due. Attempts are at least ``pause`` apart, except the last one.
    mutating func mayTry(isLast: Bool = false, now: Instant) -> Bool {
        if !isLast, let lastTry = self.lastTry, now < lastTry.advanced(by: self.pause) { return false }
        self.lastTry = now
        return true
    }

    /// The log is open again.
    mutating func opened() {
        self.closedSince = nil
        self.error = nil
    }

    /// An attempt to open the log failed.
    ///
    /// - Returns: `true` for a new error, which is to be logged.
    mutating func failed(_ error: TrackingError, now: Instant) -> Bool {
        defer { self.error = error }
        self.closedSince = self.closedSince ?? now
        self.isAlarmDue = true
        return error != self.error
    }

    /// Returns `true` once after each failure: the worker is to wake after a ``pause`` even without a job.
    mutating func takeAlarm() -> Bool {
        defer { self.isAlarmDue = false }
        return self.isAlarmDue
    }

    /// Returns the number of these records, counted from the first, that wait until the log is open.
    func patience(with entries: [SpoolEntry], now: Instant) -> Int {
        guard let closedSince = self.closedSince, now < closedSince.advanced(by: Self.patience) else { return 0 }
        var bytes = 0
        return entries.prefix { entry in
            bytes += entry.record.payload.count + Self.overhead
            return bytes <= Self.maximumBytes
        }.count
    }
}
