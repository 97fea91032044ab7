/// Decides which records are dropped so that a device's log is within its limits. The caller passes the records one by
/// one, the oldest first.
package struct SpoolTrimming {
    /// The decision about one record of the log: to drop it, to keep it, or to let the decision about a later record
    /// apply to it.
    package enum Verdict: Hashable, Sendable {
        /// Drop this record and all records that were appended before it.
        case goes
        /// The time of this record is implausible, so its age is unknown. Drop it only if a record that was appended
        /// after it is dropped.
        case undecided
        /// Keep this record and all records that were appended after it. No further record needs to be examined.
        case stays
    }

    /// The earliest plausible time of a record, 2001-01-01T00:00:00Z. Earlier times come from clocks that were not set.
    private static let earliestTime = UnixTime(978_307_200)

    private let limits: SpoolLimits
    private let maximumAge: Duration?
    private let now: UnixTime
    private var count: Int
    private var bytes: Int

    /// Creates the decisions for a log with `count` records and `bytes` bytes of payload in total. The caller then
    /// passes each record to ``consider(bytes:time:)``. If the clock `now` is evidently wrong, before the build date of
    /// this program, no record is dropped because of its age.
    package init(limits: SpoolLimits, count: Int, bytes: Int, now: UnixTime) {
        self.limits = limits
        self.maximumAge = now < ClockTrust.buildFloor ? nil : limits.maximumAge
        self.now = now
        self.count = count
        self.bytes = bytes
    }

    /// `true` when records may have to be dropped, because the log exceeds a limit or the age of its records is
    /// limited. If `false`, all records are kept.
    package var mayTrim: Bool { self.isOverfull || self.maximumAge != nil }

    private var isOverfull: Bool {
        self.count > self.limits.maximumCount ?? .max || self.bytes > self.limits.maximumBytes ?? .max
    }

    /// Decides if the next record of the log is dropped. The caller passes the records in the order in which they were
    /// appended.
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
