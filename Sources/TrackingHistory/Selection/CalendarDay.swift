package import TrackingCore

/// A day in UTC, from one midnight to the next. An export by day has a file for each day.
package struct CalendarDay: Hashable, Comparable, Sendable {
    /// The number of days from 1970-01-01 to this day. It is negative for an earlier day.
    private let number: Int

    /// Makes the day of a time as exports write the time, which is rounded to microseconds. So a moment less than half
    /// a microsecond before midnight belongs to the next day.
    package init(_ time: UnixTime) {
        let microseconds = (max(-1e11, min(1e11, time.seconds)) * 1e6).rounded()
        self.number = Int((microseconds / (CivilTime.secondsPerDay * 1e6)).rounded(.down))
    }

    private init(number: Int) { self.number = number }

    /// The first moment of the day.
    package var start: UnixTime { UnixTime(Double(self.number) * CivilTime.secondsPerDay) }
    /// The day after this day.
    package var next: CalendarDay { CalendarDay(number: self.number + 1) }
    /// The day before this day.
    package var previous: CalendarDay { CalendarDay(number: self.number - 1) }
    /// The date of the day: `2026-05-04`.
    package var name: String { String(ISO8601.text(self.start).prefix { $0 != "T" }) }

    /// Orders days by time, earlier ones first.
    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
}
