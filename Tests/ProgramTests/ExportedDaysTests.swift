import Testing
import TrackingCore
import TrackingHistory
import TrackingStore

@testable import godwit

/// The days that `godwit export` selects for a span of time.
@Suite struct ExportedDaysTests {
    /// 2026-05-04T00:00:00Z.
    private static let start = 1_777_852_800.0
    private static let hour = 3600.0

    private static func days(_ from: Double?, _ to: Double?) -> ExportedDays {
        ExportedDays(TimeSpan(from: from.map { UnixTime($0) }, to: to.map { UnixTime($0) }))
    }

    /// The dates in May 2026, of a few days, that belong to the days.
    private static func dates(_ days: ExportedDays) -> [Int] {
        (1...9).filter { days.contains(CalendarDay(UnixTime(Self.start + Double($0 - 4) * 24 * Self.hour))) }
    }

    @Test(arguments: [
        (Self.start, Self.start + 24 * Self.hour, [4]), (Self.start + Self.hour, Self.start + 2 * Self.hour, [4]),
        (Self.start + 23 * Self.hour, Self.start + 25 * Self.hour, [4, 5]),
        (Self.start - Self.hour, Self.start + 48 * Self.hour + 1, [3, 4, 5, 6]),
    ])
    func aDayIsExportedWholeIfAPartOfItIsSelected(from: Double, to: Double, dates: [Int]) {
        #expect(Self.dates(Self.days(from, to)) == dates)
    }

    @Test func aSpanWithoutABeginningOrAnEndHasAllDaysThere() {
        #expect(Self.dates(Self.days(nil, nil)) == Array(1...9))
        #expect(Self.dates(Self.days(Self.start, nil)) == Array(4...9))
        #expect(Self.dates(Self.days(nil, Self.start)) == Array(1...3))
        #expect(Self.days(nil, nil).times == .all)
    }

    @Test func thePointsThatAreReadIncludeTheMomentsOfTheDays() {
        let times = Self.days(Self.start + Self.hour, Self.start + 25 * Self.hour).times
        #expect(times.from.map { $0.seconds < Self.start } == true)
        #expect(times.to?.seconds == Self.start + 48 * Self.hour)
    }
}
