/// Decides, from the oldest record on, which records are dropped to comply with a log's limits.
package struct SpoolTrimming {
    /// The decision about a record.
    package enum Verdict: Hashable, Sendable {
        /// Drop the record and all records before it.
        case goes
        /// The next record decides.
        case undecided
        /// Keep the record and all records after it.
        case stays
    }

    /// The earliest time from a clock that was set.
    private static let earliestTime = UnixTime(978_307_200)

    private let limits: SpoolLimits
    private let maximumAge: Duration?
    private let now: UnixTime
    private var count: Int
    private var bytes: Int

    /// Makes a value for a log's current amount. With a clock before the build date of this program, ages are ignored.
    package init(limits: SpoolLimits, count: Int, bytes: Int, now: UnixTime) {
        self.limits = limits
        self.maximumAge = now < ClockTrust.buildFloor ? nil : limits.maximumAge
        self.now = now
        self.count = count
        self.bytes = bytes
    }

    /// `true` when the limits may require dropping a record.
    package var mayTrim: Bool { self.isOverfull || self.maximumAge != nil }

    private var isOverfull: Bool {
        self.count > self.limits.maximumCount ?? .max || self.bytes > self.limits.maximumBytes ?? .max
    }

    /// Decides about the next record.
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
