import Testing
import TrackingCore
import TrackingHistory

/// The days of an export by day.
@Suite struct CalendarDayTests {
    /// 2026-05-05T00:00:00Z.
    private static let midnight = 1_777_939_200.0

    @Test(arguments: [
        (Self.midnight, "2026-05-05"), (Self.midnight - 0.000_001, "2026-05-04"),
        (Self.midnight + 86_399, "2026-05-05"), (0, "1970-01-01"), (-1, "1969-12-31"), (951_782_400, "2000-02-29"),
        (.infinity, "5138-11-16"),
    ])
    func aDayHasTheNameOfItsDate(seconds: Double, name: String) {
        #expect(CalendarDay(UnixTime(seconds)).name == name)
    }

    /// The file of a point and the date in its row never differ.
    @Test(arguments: [0.0, 1, 2, 3, 5, 10]) func aTimeBelongsToTheDayThatIsWritten(steps: Double) {
        let seconds = Self.midnight - steps * Self.midnight.ulp
        let day = CalendarDay(UnixTime(seconds))
        #expect(ISO8601.text(UnixTime(seconds)).hasPrefix(day.name))
    }

    @Test func theNeighboursOfADayTouchIt() {
        let day = CalendarDay(UnixTime(Self.midnight))
        #expect(day.start.seconds == Self.midnight && day.next.start.seconds == Self.midnight + 86_400)
        #expect(day.next.previous == day && day.previous < day && day < day.next)
    }
}
