import Foundation
import Testing
import TrackingCore

@testable import GodwitOptions

/// Tables for people on terminals of every width.
@Suite struct TextTableTests {
    private static let columns: [TextColumn] = [
        .text("name", cutTo: 8), .value("age"), .value("place", .left, omission: 3), .value("speed", omission: 2),
        .value("note", .left, omission: 1),
    ]
    private static let rows = [
        ["van-7", "9 s", "52.66380,-8.62670", "118.8 km/h", "first"],
        ["a-name-of-twenty-one-", "119 min", "-33.90000,151.20000", "–", "second"],
    ]

    private static func lines(_ limit: Int?) -> [String] {
        var table = TextTable(self.columns)
        for row in self.rows { table.append(row) }
        return table.text(limit: limit).split(separator: "\n").map(String.init)
    }

    @Test func withoutALimitTheTableIsComplete() {
        #expect(
            Self.lines(nil) == [
                "name                       age  place                     speed  note",
                "van-7                      9 s  52.66380,-8.62670    118.8 km/h  first",
                "a-name-of-twenty-one-  119 min  -33.90000,151.20000           –  second",
            ])
    }

    @Test func theLeastImportantColumnsAreOmittedAndThenNamesAreCut() {
        #expect(Self.lines(71) == Self.lines(nil))
        #expect(Self.lines(70)[2] == "a-name-of-twenty-on…  119 min  -33.90000,151.20000           –  second")
        #expect(Self.lines(55)[0] == "name               age  place                     speed")
        #expect(
            Self.lines(30) == [
                "name                       age", "van-7                      9 s", "a-name-of-twenty-one-  119 min",
            ])
        #expect(Self.lines(17)[2] == "a-name-…  119 min")
    }

    @Test(arguments: 1...90) func noNumberIsEverCut(limit: Int) {
        let lines = Self.lines(limit)
        #expect(lines.count == 3)
        for (line, row) in zip(lines.dropFirst(), Self.rows) {
            let words = line.components(separatedBy: "  ").map { $0.trimmingPrefix(while: { $0 == " " }) }.filter {
                !$0.isEmpty
            }
            for word in words.dropFirst() { #expect(row.contains(String(word)), "\(word) in \(line)") }
        }
        if limit >= 17 { #expect(lines.allSatisfy { $0.columns <= limit }, "\(lines)") }
    }

    @Test func aTableWithoutRowsIsEmpty() { #expect(TextTable(Self.columns).text(limit: 80) == "") }

    @Test func aNameForgesNoLineAndWideCharactersAreAligned() {
        var table = TextTable(Self.columns)
        table.append(["a\nb\u{202E}", "1 s", "–", "–", "–"])
        table.append(["車車車車車車", "2 s", "–", "–", "–"])
        let lines = table.text(limit: nil).split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[1].hasPrefix(#"a\u000ab\u202e  1 s"#))
        #expect(lines[2].hasPrefix("車車車車車車    2 s"))
        #expect(table.text(limit: 13).split(separator: "\n")[2] == "車車車…   2 s")
    }

    @Test func fixedWidthsSuitAStream() {
        let layout = TextLayout([.value("time", .left, width: 8), .value("speed", width: 6)], limit: 16)
        #expect(layout.header == "time       speed")
        #expect(layout.line(["09:00", "1.0"]) == "09:00        1.0")
        #expect(layout.line(["09:00:00", "123456.7"]) == "09:00:00  123456.7", "a wide number is whole")
    }

    @Test(arguments: [
        (-5.0, "0 s"), (0, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7200, "2 h"), (172_799, "47 h"),
        (172_800, "2 d"), (63_113_903, "730 d"), (63_113_904, "2 y"), (.infinity, "–"),
    ])
    func anAgeHasItsLargestUnit(seconds: Double, text: String) { #expect(AgeText.text(seconds) == text) }

    @Test func aLocalTimeHasItsZone() {
        let text = TimeText.localDate(UnixTime(1_790_000_000))
        #expect(text.wholeMatch(of: #/2026-09-2[12] \d\d:\d\d:20 [+-]\d\d:\d\d/#) != nil, "\(text)")
    }
}
