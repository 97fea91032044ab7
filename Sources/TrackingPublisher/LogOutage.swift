import TrackingCore

/// Decides when the program tries again to open its log, and which new records wait in memory meanwhile.
///
/// The log is the device's database of records. The program closes it when it is damaged.
struct LogOutage: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The default for the shortest time between two attempts to open the closed log: 10 s.
    static let pause: Duration = .seconds(10)
    /// The time from the closing of the log for which new records wait in memory: 60 s. After it, waiting and new
    /// records count as not written to the log, so that live positions continue.
    static let patience: Duration = .seconds(60)
    /// The approximate limit of all records that wait in memory for the closed log, in bytes.
    static let maximumBytes = 16 << 20
    /// The approximate number of bytes that a record waiting in memory needs in addition to its payload.
    private static let overhead = 200

    /// The shortest time between two attempts of this program to open the closed log: usually 10 s, and shorter in
    /// tests.
    let pause: Duration
    private var closedSince: Instant?
    private var lastTry: Instant?
    private var isAlarmDue = false
    /// The error of the last failed attempt to open the log; `nil` before the first failure, and while the log is open.
    private(set) var error: TrackingError?

    init(pause: Duration = LogOutage.pause) { self.pause = pause }

    /// `true` from a failed attempt to open the log until an attempt succeeds. The log is closed in this time.
    var isClosed: Bool { self.closedSince != nil }

    /// Returns `true` if the log may be opened now, and remembers the attempt.
    ///
    /// Attempts are at least ``pause`` apart. The last attempt before the program ends is always allowed.
    mutating func mayTry(isLast: Bool = false, now: Instant) -> Bool {
        if !isLast, let lastTry = self.lastTry, now < lastTry.advanced(by: self.pause) { return false }
        self.lastTry = now
        return true
    }

    /// Registers that the closed log was opened again: forgets the time of its closing, and the last error.
    mutating func opened() {
        self.closedSince = nil
        self.error = nil
    }

    /// Registers the error of a failed attempt to open the log. The log counts as closed from the first failure on.
    ///
    /// - Returns: `true` for the first error since the log was closed, and for an error that differs from the one
    ///   before. Only such errors are logged.
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

    /// Returns how many of the given records may continue to wait in memory for the closed log, counted from the first
    /// record.
    ///
    /// The other records are given up. Once the log was closed for ``LogOutage/patience``, the result is 0; before, the
    /// limit of memory decides.
    func patience(with entries: [SpoolEntry], now: Instant) -> Int {
        guard let closedSince = self.closedSince, now < closedSince.advanced(by: Self.patience) else { return 0 }
        var bytes = 0
        return entries.prefix { entry in
            bytes += entry.record.payload.count + Self.overhead
            return bytes <= Self.maximumBytes
        }.count
    }
}
