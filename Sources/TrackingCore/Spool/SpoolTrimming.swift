/// Decides which records of a device's log are dropped to comply with the log's limits. The records are examined one by
/// one, from the oldest on.
package struct SpoolTrimming {
    /// The decision about the record that is examined.
    package enum Verdict: Hashable, Sendable {
        /// Drop the record and all records before it.
        case goes
        /// The record's age is unknown: it is dropped if a later record is dropped, and kept otherwise.
        case undecided
        /// Keep the record and all records after it.
        case stays
    }

    /// The earliest time of a record that counts as known, 2001-01-01T00:00:00Z. Earlier times come from clocks that
    /// were not set.
    private static let earliestTime = UnixTime(978_307_200)

    private let limits: SpoolLimits
    private let maximumAge: Duration?
    private let now: UnixTime
    private var count: Int
    private var bytes: Int

    /// Makes a value for a log with `count` records and `bytes` payload bytes. If `now` is before the build date of
    /// this program, ages are ignored.
    package init(limits: SpoolLimits, count: Int, bytes: Int, now: UnixTime) {
        self.limits = limits
        self.maximumAge = now < ClockTrust.buildFloor ? nil : limits.maximumAge
        self.now = now
        self.count = count
        self.bytes = bytes
    }

    /// `true` when a record may have to be dropped: the log exceeds a limit, or there is a limit for the age.
    package var mayTrim: Bool { self.isOverfull || self.maximumAge != nil }

    private var isOverfull: Bool {
        self.count > self.limits.maximumCount ?? .max || self.bytes > self.limits.maximumBytes ?? .max
    }

    /// Decides about the next record in order of age.
    ///
    /// - Parameters:
    ///   - bytes: The number of payload bytes of the record.
    ///   - time: The time of the record.
    package mutating func consider(bytes: Int, time: UnixTime) -> Verdict {
        let isOverfull = self.isOverfull
        self.count -= 1
        self.bytes -= bytes
        if isOverfull { return .goes }
        guard let maximumAge = self.maximumAge else { return .stays }
        guard time >= Self.earliestTime, time <= self.now else { return .undecided }
        return self.now.since(time) > maximumAge ? .goes : .stays
    }
}
