/// Decides, oldest first, which records go to keep a log's limits.
package struct SpoolTrimming {
    /// What becomes of a record.
    package enum Verdict: Hashable, Sendable {
        /// It goes, and with it all before it.
        case goes
        /// The next one decides.
        case undecided
        /// It stays, and with it all after it.
        case stays
    }

    /// A time before 2001 was made without a clock.
    private static let earliestTime = UnixTime(978_307_200)

    private let limits: SpoolLimits
    private let maximumAge: Duration?
    private let now: UnixTime
    private var count: Int
    private var bytes: Int

    /// Begins with what there is. A clock that says it is before this program was made knows no ages.
    package init(limits: SpoolLimits, count: Int, bytes: Int, now: UnixTime) {
        self.limits = limits
        self.maximumAge = now < ClockTrust.buildFloor ? nil : limits.maximumAge
        self.now = now
        self.count = count
        self.bytes = bytes
    }

    /// Whether anything may have to go.
    package var mayTrim: Bool { self.isOverfull || self.maximumAge != nil }

    private var isOverfull: Bool {
        self.count > self.limits.maximumCount ?? .max || self.bytes > self.limits.maximumBytes ?? .max
    }

    /// The next record.
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
