import TrackingCore

/// Decides which monthly partitions of the table `point` must be made for new points. Points from
/// ``RecordedTime/earliest`` until 62 days after their receipt get a partition for their month. Points with any other
/// time are stored in the partition `point_other`.
struct PointPartitions {
    /// A calendar month in UTC. The table `point` in PostgreSQL can have a partition for it.
    struct Month: Hashable, Comparable {
        var year: Int
        var month: Int

        /// Makes the calendar month, in UTC, that contains a time.
        init(_ time: UnixTime) {
            // Days since 1970 to a date of the Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
            let days = Int((time.seconds / 86_400).rounded(.down)) + 719_468
            let era = (days >= 0 ? days : days - 146_096) / 146_097
            let dayOfEra = days - era * 146_097
            let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
            let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
            let shifted = (5 * dayOfYear + 2) / 153
            self.month = shifted < 10 ? shifted + 3 : shifted - 9
            self.year = yearOfEra + era * 400 + (self.month <= 2 ? 1 : 0)
        }

        private init(year: Int, month: Int) {
            self.year = year
            self.month = month
        }

        var next: Month {
            self.month == 12 ? Month(year: self.year + 1, month: 1) : Month(year: self.year, month: self.month + 1)
        }

        /// The first moment of the calendar month, in UTC.
        var start: UnixTime {
            let year = self.month <= 2 ? self.year - 1 : self.year
            let era = (year >= 0 ? year : year - 399) / 400
            let yearOfEra = year - era * 400
            let dayOfYear = (153 * (self.month > 2 ? self.month - 3 : self.month + 9) + 2) / 5
            let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            return UnixTime(Double(era * 146_097 + dayOfEra - 719_468) * 86_400)
        }

        /// The name of the database table for the month's points, a partition of `point`: for example `point_2026_05`.
        var table: String { "point_\(self.year)_\(self.month < 10 ? "0" : "")\(self.month)" }

        static func < (left: Self, right: Self) -> Bool { (left.year, left.month) < (right.year, right.month) }
    }

    private var known: Set<Month> = []
    /// The time span of the month whose partition was last found to exist. Points in this span need no further check.
    private var latest: Range<UnixTime>?
    /// The time until which no monthly partition of the table `point` is made, because one could not be made. `nil` if
    /// none has failed so far.
    private var pause: ContinuousClock.Instant?

    /// The time for which the store tries to make no monthly partition of the table `point`, after it could not make
    /// one: 60 s. Meanwhile the points of a month without a partition are stored in `point_other`.
    private static let longestPause = Duration.seconds(60)

    /// Returns the months of a batch's points for which no partition is known to exist. If the month of the receipt is
    /// needed, the next month is also returned unless its partition exists. Returns none during the pause after a
    /// failed attempt.
    mutating func missing(for batch: RecordingBatch, now: ContinuousClock.Instant) -> [Month] {
        if let pause = self.pause, now < pause { return [] }
        var missing: Set<Month> = []
        for recording in batch.recordings {
            let limit = UnixTime(recording.receivedAt.seconds + 62 * 86_400)
            for point in recording.points where self.latest?.contains(point.time) != true {
                guard point.time >= RecordedTime.earliest, point.time < limit else { continue }
                let month = Month(point.time)
                let needed = month == Month(recording.receivedAt) ? [month, month.next] : [month]
                guard self.known.isSuperset(of: needed) else {
                    missing.formUnion(needed)
                    continue
                }
                self.latest = month.start..<month.next.start
            }
        }
        return missing.subtracting(self.known).sorted()
    }

    mutating func made(_ month: Month) { self.known.insert(month) }

    /// Handles that a partition could not be made: no partition is made during the next ``longestPause``.
    mutating func notMade(now: ContinuousClock.Instant) { self.pause = now + Self.longestPause }
}
