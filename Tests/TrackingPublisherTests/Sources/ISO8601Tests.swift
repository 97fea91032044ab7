import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct ISO8601Tests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0.0), ("2019-02-18T07:45:50Z", 1_550_475_950), ("2000-02-29T12:00:00Z", 951_825_600),
        ("1901-12-13T20:45:52.2073437Z", -2_147_483_647.7926563), ("2016-05-27T10:08:47.8Z", 1_464_343_727.8),
        ("2019-02-18T08:45:50+01:00", 1_550_475_950), ("2019-02-18T02:15:50-05:30", 1_550_475_950),
        ("2019-02-18T08:45:50+0100", 1_550_475_950), ("2019-02-18 07:45:50", 1_550_475_950),
        ("2016-12-31T23:59:60Z", 1_483_228_800), ("2019-02-18T07:45:50.000000000000000000001Z", 1_550_475_950),
    ])
    func readsMoments(text: String, seconds: Double) throws {
        let time = try #require(ISO8601.parse(text.utf8))
        #expect(abs(time.seconds - seconds) < 1e-6)
    }

    @Test(arguments: [
        "", "2019", "2019-02-18", "2019-13-01T00:00:00Z", "2019-02-29T00:00:00Z", "2100-02-29T00:00:00Z",
        "2019-02-18T24:00:00Z", "2019-02-18T00:60:00Z", "2019-02-18T07:45:50X", "2019-02-18T07:45:50.Z",
        "2019-02-18T07:45:50+1", "0000-01-01T00:00:00Z", "5139-01-01T00:00:00Z", "٢٠١٩-02-18T07:45:50Z",
        "2019-02-18T07:45:50Zjunk",
    ])
    func refusesWhatIsNone(text: String) { #expect(ISO8601.parse(text.utf8) == nil) }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (1_550_475_950.25, "2019-02-18T07:45:50.25Z"), (-0.5, "1969-12-31T23:59:59.5Z"),
        (951_825_600.000001, "2000-02-29T12:00:00.000001Z"), (-62_135_596_800, "0001-01-01T00:00:00Z"),
        (95_617_584_000, "5000-01-01T00:00:00Z"),
    ])
    func writesMoments(seconds: Double, text: String) {
        #expect(ISO8601.text(UnixTime(seconds)) == text)
        #expect(ISO8601.parse(text.utf8) == UnixTime(seconds))
    }

    @Test(arguments: 1...200) func whatIsWrittenIsReadBack(seed: UInt64) {
        var dice = Dice(seed)
        let microseconds = Int.random(in: -60_000_000_000_000_000...90_000_000_000_000_000, using: &dice)
        for scale in [1.0, 1e3, 1e6] {
            let time = UnixTime((Double(microseconds) / 1e6 * scale).rounded() / scale)
            let back = ISO8601.parse(ISO8601.text(time).utf8)
            #expect(back.map { abs($0.seconds - time.seconds) <= abs(time.seconds).ulp } == true)
        }
    }

    @Test func daysAgreeWithCountingThem() throws {
        var expected = try #require(CivilTime.days(year: 1899, month: 12, day: 31))
        for year in 1900...2101 {
            for month in 1...12 {
                for day in 1...31 {
                    guard let days = CivilTime.days(year: year, month: month, day: day) else { continue }
                    expected += 1
                    #expect(days == expected)
                }
            }
        }
    }

    @Test(arguments: [
        ("2024-05-17T00:00:01Z", 86_399.0, "2024-05-16T23:59:59Z"), ("2024-05-16T23:59:59Z", 1, "2024-05-17T00:00:01Z"),
        ("2024-05-17T12:00:00Z", 43_200, "2024-05-17T12:00:00Z"),
        ("1969-12-31T23:00:00Z", 3600, "1970-01-01T01:00:00Z"),
    ])
    func aTimeOfDayTakesTheNearestDay(reference: String, seconds: Double, expected: String) {
        #expect(CivilTime.moment(secondsOfDay: seconds, nearest: .at(reference)) == .at(expected))
    }
}
