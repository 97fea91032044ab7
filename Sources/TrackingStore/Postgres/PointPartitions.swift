import TrackingCore

/// Decides which weekly partitions of the table `point` must be made for new points. Points from
/// ``RecordedTime/earliest`` until 62 days after their receipt get a partition for their week. Points with any other
/// time are stored in the partition `point_other`.
struct PointPartitions {
    /// A week of ISO 8601 in UTC, from Monday to Sunday. The table `point` in PostgreSQL can have a partition for it.
    struct Week: Hashable, Comparable {
        /// The number of weeks from the week of 1970-01-01, a Thursday, to this week.
        private let index: Int

        /// Makes the week, in UTC, that contains a time.
        init(_ time: UnixTime) {
            let day = Int((time.seconds / CivilTime.secondsPerDay).rounded(.down))
            self.index = Int((Double(day + 3) / 7).rounded(.down))
        }

        private init(index: Int) { self.index = index }

        var next: Week { Week(index: self.index + 1) }

        /// The first moment of the week, in UTC.
        var start: UnixTime { UnixTime(Double(self.index * 7 - 3) * CivilTime.secondsPerDay) }

        /// The name of the database table for the week's points, a partition of `point`: for example `point_2026_w05`.
        /// The year and the number are those of ISO 8601: a week belongs to the year of its Thursday.
        var table: String {
            let thursday = self.index * 7
            let year = CivilTime.date(days: thursday).year
            let number = (1...53).first { CivilTime.date(days: thursday - $0 * 7).year < year } ?? 53
            return "point_\(year)_w\(number < 10 ? "0" : "")\(number)"
        }

        static func < (left: Self, right: Self) -> Bool { left.index < right.index }
    }

    private var known: Set<Week> = []
    /// The time span of the week whose partition was last found to exist. Points in this span need no further check.
    private var latest: Range<UnixTime>?
    /// The time until which no weekly partition of the table `point` is made, because one could not be made. `nil` if
    /// none has failed so far.
    private var pause: ContinuousClock.Instant?

    /// The time for which the store tries to make no weekly partition of the table `point`, after it could not make
    /// one: 60 s. Meanwhile the points of a week without a partition are stored in `point_other`.
    private static let longestPause = Duration.seconds(60)

    /// Returns the weeks of a batch's points for which no partition is known to exist. If the week of the receipt is
    /// needed, the next week is also returned unless its partition exists. Returns none during the pause after a
    /// failed attempt.
    mutating func missing(for batch: RecordingBatch, now: ContinuousClock.Instant) -> [Week] {
        if let pause = self.pause, now < pause { return [] }
        var missing: Set<Week> = []
        for recording in batch.recordings {
            let limit = UnixTime(recording.receivedAt.seconds + 62 * 86_400)
            for point in recording.points where self.latest?.contains(point.time) != true {
                guard point.time >= RecordedTime.earliest, point.time < limit else { continue }
                let week = Week(point.time)
                let needed = week == Week(recording.receivedAt) ? [week, week.next] : [week]
                guard self.known.isSuperset(of: needed) else {
                    missing.formUnion(needed)
                    continue
                }
                self.latest = week.start..<week.next.start
            }
        }
        return missing.subtracting(self.known).sorted()
    }

    mutating func made(_ week: Week) { self.known.insert(week) }

    /// Handles that the partition with this name no longer exists.
    mutating func dropped(_ table: String) {
        self.known = self.known.filter { $0.table != table }
        self.latest = nil
    }

    /// Handles that a partition could not be made: no partition is made during the next ``longestPause``.
    mutating func notMade(now: ContinuousClock.Instant) { self.pause = now + Self.longestPause }
}
