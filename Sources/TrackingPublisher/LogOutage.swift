import TrackingCore

/// Decides when the program tries again to open its log, and which new records wait in memory meanwhile.
///
/// The log is the device's database of records. The program closes it when it is damaged.
struct LogOutage: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The time between two attempts to open the log.
    static let pause: Duration = .seconds(10)
    /// The longest time for which new records wait in memory for a closed log. Later they count as not written to the
    /// log, so that live positions continue.
    static let patience: Duration = .seconds(60)
    /// The approximate limit of all records that wait in memory for the closed log, in bytes.
    static let maximumBytes = 16 << 20
    /// The approximate size of a record in addition to its payload, in bytes.
    private static let overhead = 200

    /// The time between two attempts of this program to open the closed log: usually 10 s, and shorter in tests.
    let pause: Duration
    private var closedSince: Instant?
    private var lastTry: Instant?
    private var isAlarmDue = false
    /// The error of the last failed attempt to open the log; `nil` once the log is open.
    private(set) var error: TrackingError?

    init(pause: Duration = LogOutage.pause) { self.pause = pause }

    /// `true` while the log is closed.
    var isClosed: Bool { self.closedSince != nil }

    /// Returns `true` if the log may be opened now, and remembers the attempt.
    ///
    /// Attempts are at least ``pause`` apart. The last attempt before the program ends is always allowed.
    mutating func mayTry(isLast: Bool = false, now: Instant) -> Bool {
        if !isLast, let lastTry = self.lastTry, now < lastTry.advanced(by: self.pause) { return false }
        self.lastTry = now
        return true
    }

    /// Handles that the log was opened again: the outage is over.
    mutating func opened() {
        self.closedSince = nil
        self.error = nil
    }

    /// Handles that an attempt to open the log failed.
    ///
    /// - Returns: `true` if the error differs from the error of the attempt before. Only such an error is logged.
    mutating func failed(_ error: TrackingError, now: Instant) -> Bool {
        defer { self.error = error }
        self.closedSince = self.closedSince ?? now
        self.isAlarmDue = true
        return error != self.error
    }

    /// Returns `true` once after each failed attempt to open the log. The caller then schedules the next attempt after
    /// a ``pause``.
    mutating func takeAlarm() -> Bool {
        defer { self.isAlarmDue = false }
        return self.isAlarmDue
    }

    /// Returns how many of the given records may continue to wait for the closed log, counted from the first record.
    ///
    /// The rest is given up: it exceeds the limit of time or of memory.
    func patience(with entries: [SpoolEntry], now: Instant) -> Int {
        guard let closedSince = self.closedSince, now < closedSince.advanced(by: Self.patience) else { return 0 }
        var bytes = 0
        return entries.prefix { entry in
            bytes += entry.record.payload.count + Self.overhead
            return bytes <= Self.maximumBytes
        }.count
    }
}
