import Testing

@testable import GodwitOptions
@testable import godwit

/// The columns of the live table on terminals of every width.
@Suite struct LiveTableLayoutTests {
    private typealias Cell = LiveTableLayout.Cell
    private typealias Column = LiveTableLayout.Column

    private static let usual: [LiveTableLayout.Column: LiveTableLayout.Cell] = [
        .trackable: .init(text: "delivery-van-007"), .state: .init("OFFLINE"), .age: .init("59 min"),
        .speed: .init("100.4 km/h"), .resolution: .init("BALANCED/30000/0"), .due: .init("overdue"),
        .position: .init("~52.66310 -8.62670"), .bearing: .init("359°"),
        .trip: .init("12.4 km 1:05:05", text: " bicycle"),
    ]

    private func shown(_ width: Int, _ rows: [[Column: Cell]] = [Self.usual]) -> [Column] {
        LiveTableLayout(width: width, rows: rows).columns.map(\.column)
    }

    @Test func eightyColumnsShowEverythingThatIsNeeded() {
        #expect(self.shown(80) == [.trackable, .state, .age, .speed, .resolution, .due])
        let layout = LiveTableLayout(width: 80, rows: [Self.usual])
        #expect(layout.head.columns <= 80)
        #expect(
            layout.line(Self.usual).hasPrefix("delivery-van-007 OFFLINE 59 min 100.4 km/h BALANCED/30000/0 overdue"))
    }

    @Test func wideTerminalsShowMore() {
        #expect(self.shown(100) == [.trackable, .state, .age, .speed, .resolution, .due, .position, .bearing])
        let withoutWay = Column.allCases.filter { ![.way, .road, .eta].contains($0) }
        #expect(self.shown(120) == withoutWay)
        #expect(self.shown(120, []) == withoutWay)
        var away = Self.usual
        away[.way] = LiveTableLayout.Cell("4.2 km 0:06:10")
        away[.road] = LiveTableLayout.Cell(text: "Landstrasse")
        #expect(self.shown(82, [away]) == [.trackable, .state, .age, .speed, .resolution, .due, .road])
        away[.eta] = LiveTableLayout.Cell("14:32")
        #expect(LiveTableLayout(width: 160, rows: [away]).columns.map(\.column) == Column.allCases)
    }

    @Test func eightyColumnsShowTheArrivalAndTheRoad() {
        var row = Self.usual
        row[.eta] = Cell("14:32")
        row[.road] = Cell(text: "Landstrasse")
        #expect(self.shown(80, [row]) == [.trackable, .state, .age, .speed, .resolution, .due, .eta])
        row[.trackable] = Cell(text: "van-7")
        #expect(self.shown(80, [row]) == [.trackable, .state, .age, .speed, .resolution, .due, .eta, .road])
        let layout = LiveTableLayout(width: 80, rows: [row])
        #expect(layout.head.columns == 80 && layout.head.hasSuffix(" next due eta   road        "))
        #expect(layout.line(row).hasSuffix(" overdue  14:32 Landstrasse "))
    }

    @Test func aNarrowTerminalShortensTheNameAndThenLeavesColumnsOut() {
        #expect(self.shown(60) == [.trackable, .state, .age, .speed, .resolution, .due])
        let line = LiveTableLayout(width: 60, rows: [Self.usual]).line(Self.usual)
        #expect(line == "deliver… OFFLINE 59 min 100.4 km/h BALANCED/30000/0 overdue ")
        #expect(self.shown(50) == [.trackable, .state, .age, .speed, .due])
        #expect(self.shown(20) == [.trackable, .state])
        #expect(self.shown(5) == [.trackable])
        #expect(LiveTableLayout(width: 5, rows: [Self.usual]).line(Self.usual) == "deli…")
    }

    /// The numbers of a row are in the line whole, or not at all.
    @Test(arguments: 1...140) func noNumberIsCut(width: Int) {
        var long = Self.usual
        long[.resolution] = Cell("MAXIMUM/3600000/1000.5")
        long[.speed] = Cell("1234567.8 km/h")
        long[.trip] = Cell("123456.7 km 2777:46:40", text: " " + String(repeating: "x", count: 64))
        let layout = LiveTableLayout(width: width, rows: [Self.usual, long])
        for row in [Self.usual, long] {
            let line = layout.line(row)
            #expect(line.columns <= width)
            for (column, cell) in row where layout.columns.contains(where: { $0.column == column }) {
                #expect(line.contains(cell.value), "\(column) of \(width)")
            }
        }
    }

    @Test func aLongNameGetsTheRoomThatIsLeft() {
        var row = Self.usual
        row[.trackable] = Cell(text: String(repeating: "n", count: 40))
        #expect(LiveTableLayout(width: 200, rows: [row]).line(row).hasPrefix(String(repeating: "n", count: 40) + " "))
        #expect(LiveTableLayout(width: 80, rows: [row]).columns[0].width > 16)
    }
}
