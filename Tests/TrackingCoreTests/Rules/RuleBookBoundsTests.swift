import Testing
import TrackingCore

/// The limit on the trackables of a rule book.
@Suite struct RuleBookBoundsTests {
    private let start = UnixTime(1_700_000_000)
    private let depot = Coordinate(latitude: 52.66, longitude: -8.63)!  // both are within their ranges

    private func id(_ number: Int) throws -> TrackableID { try TrackableID("order-\(number)") }

    private func rule() throws -> Rule {
        try Rule(name: "in", .enter(try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100))))
    }

    /// Moves a trackable to a distance from the depot, in metres, at a time after the start, in seconds.
    private func move(_ book: inout RuleBook, _ number: Int, _ distance: Double, _ seconds: Double) throws -> Int {
        let time = self.start.advanced(by: .seconds(seconds))
        let fix = Location(coordinate: self.depot.destination(bearing: 0, distance: Meters(distance)), time: time)
        return book.moved(try self.id(number), fix, now: time).count
    }

    @Test func theLeastRecentlyReceivedTrackableIsForgottenFirst() throws {
        var book = RuleBook([try self.rule()], now: self.start, maximumTrackables: 16)
        for number in 0..<1000 { #expect(try self.move(&book, number, 500, Double(number)) == 0) }
        let gone = book.takeDropped()
        #expect(gone.count >= 1000 - 16)
        #expect(gone.contains(RuleBook.Key(trackable: try self.id(0), rule: "in")))
        #expect(book.takeChanges().count + gone.count == 1000)
        // The first position of a forgotten trackable is no crossing.
        #expect(try self.move(&book, 0, 0, 1001) == 0)
        #expect(try self.move(&book, 999, 0, 1002) == 1)
    }

    @Test func restoredStatesCountAgainstTheLimit() throws {
        let kept = try (0..<100).map { number in
            RuleBook.Entry(
                trackable: try self.id(number), rule: "in",
                state: RuleState(holds: false, since: self.start.advanced(by: .seconds(number)), isReported: false))
        }
        var book = RuleBook(
            [try self.rule()], kept: kept, now: self.start.advanced(by: .seconds(100)), maximumTrackables: 16)
        #expect(book.takeDropped().count >= 84)
        #expect(try self.move(&book, 0, 0, 101) == 0)
        #expect(try self.move(&book, 99, 0, 101) == 1)
    }

    @Test func aTrackableWithAPendingReportIsNotForgotten() throws {
        var book = RuleBook(
            [try Rule(name: "quiet", .silent(.seconds(3600)))], now: self.start, maximumTrackables: 16)
        for number in 0..<100 { _ = try self.move(&book, number, 500, Double(number)) }
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(4000))).count == 100)
        // A trackable may be forgotten after its silence was reported.
        #expect(try self.move(&book, 200, 500, 4001) == 0)
        for number in 201..<220 { _ = try self.move(&book, number, 500, 4002) }
        #expect(book.takeDropped().count >= 80)
    }

    @Test func aTrackableThatARuleNamesIsNotForgotten() throws {
        var rule = try self.rule()
        rule = try Rule(name: rule.name, rule.condition, of: [try self.id(0)])
        var book = RuleBook([rule], now: self.start, maximumTrackables: 16)
        for number in 0..<100 { _ = try self.move(&book, number, 500, Double(number)) }
        #expect(try self.move(&book, 0, 0, 101) == 1)
    }
}
