import Foundation
import Testing
import TrackingCore

@testable import TrackingStore

/// The weekly partitions of the table `point` in PostgreSQL.
struct PointPartitionsTests {
    @Test(arguments: [
        ("2001-01-01T00:00:00Z", "point_2001_w01"), ("2018-12-31T00:00:00Z", "point_2019_w01"),
        ("2020-12-31T12:00:00Z", "point_2020_w53"), ("2021-01-03T23:59:59Z", "point_2020_w53"),
        ("2021-01-04T00:00:00Z", "point_2021_w01"), ("2026-09-20T23:59:59Z", "point_2026_w38"),
        ("2026-09-21T00:00:00Z", "point_2026_w39"), ("1970-01-01T00:00:00Z", "point_1970_w01"),
        ("1969-12-28T00:00:00Z", "point_1969_w52"),
    ])
    func aPartitionIsNamedAfterItsWeek(text: String, table: String) throws {
        #expect(PointPartitions.Week(try Self.time(text)).table == table)
    }

    /// The names and the bounds agree with the calendar of Foundation, on every day of 2001 to 2060.
    @Test func theWeeksAreThoseOfISO8601() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .gmt
        var time = try Self.time("2001-01-01T12:00:00Z")
        let end = try Self.time("2061-01-01T00:00:00Z")
        while time < end {
            let week = PointPartitions.Week(time)
            let date = Date(timeIntervalSince1970: time.seconds)
            let parts = calendar.dateComponents([.yearForWeekOfYear, .weekOfYear, .weekday], from: date)
            let (year, number) = (try #require(parts.yearForWeekOfYear), try #require(parts.weekOfYear))
            let (name, monday) = (
                "point_\(year)_w\(number < 10 ? "0" : "")\(number)",
                time.seconds - 43_200 - Double((try #require(parts.weekday) + 5) % 7) * 86_400
            )
            guard week.table == name, week.start.seconds == monday, week.next.start.seconds == monday + 604_800 else {
                Issue.record("\(date): \(week.table) from \(week.start.seconds), not \(name) from \(monday)")
                return
            }
            time = UnixTime(time.seconds + 86_400)
        }
    }

    @Test func theWeekAfterTheReceiptIsMadeInAdvance() throws {
        var partitions = PointPartitions()
        var made: [String] = []
        let times = ["2026-09-27T23:59:59Z", "2026-09-14T00:00:00Z", "2026-09-28T00:00:00Z"]
        for text in times {
            let time = try Self.time(text)
            let receivedAt = text == times[1] ? try Self.time(times[0]) : time
            let batch = try batch([point(1, at: time.seconds)], at: receivedAt)
            for week in partitions.missing(for: batch, now: .now) {
                made.append(week.table)
                partitions.made(week)
            }
        }
        #expect(made == ["point_2026_w39", "point_2026_w40", "point_2026_w38", "point_2026_w41"])
    }

    private static func time(_ text: String) throws -> UnixTime {
        UnixTime(try Date(text, strategy: .iso8601).timeIntervalSince1970)
    }
}
