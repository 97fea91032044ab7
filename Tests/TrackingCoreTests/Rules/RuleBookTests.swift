import Testing
import TrackingCore

@Suite struct RuleBookTests {
    private let van = try! TrackableID("van-7")  // A name that keeps to the rules.
    private let start = UnixTime(1_700_000_000)
    private let depot = Coordinate(latitude: 52.66, longitude: -8.63)!

    private func fence() throws -> Fence { try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100)) }

    /// A fix at a distance north of the depot, in metres, at a time after the start, in seconds.
    private func fix(_ distance: Double, _ seconds: Double, speed: Double? = nil, battery: Double? = nil) -> Location {
        var fix = Location(
            coordinate: self.depot.destination(bearing: 0, distance: Meters(distance)),
            time: self.start.advanced(by: .seconds(seconds)))
        fix.speed = speed
        fix.batteryLevel = battery
        return fix
    }

    private func kinds(_ book: inout RuleBook, _ fixes: [Location]) -> [String] {
        fixes.flatMap { book.moved(self.van, $0, now: $0.time) }.map {
            "\($0.rule) \($0.time.since(self.start).inSeconds)"
        }
    }

    @Test func eachCrossingIsReportedOnce() throws {
        let fence = try self.fence()
        var book = RuleBook(
            [try Rule(name: "in", .enter(fence)), try Rule(name: "out", .leave(fence))], now: self.start)
        let reported = self.kinds(
            &book, [self.fix(500, 0), self.fix(90, 10), self.fix(50, 20), self.fix(300, 30), self.fix(500, 40)])
        #expect(reported == ["in 10.0", "out 30.0"])
    }

    @Test func aFixThatWaversAtTheEdgeIsOneCrossing() throws {
        var book = RuleBook([try Rule(name: "in", .enter(try self.fence()))], now: self.start)
        let wavering = (0..<20).map { self.fix($0.isMultiple(of: 2) ? 95 : 105, Double($0 + 1)) }
        #expect(self.kinds(&book, [self.fix(500, 0)] + wavering) == ["in 1.0"])
    }

    @Test func aFirstPositionInsideAFenceIsNoCrossing() throws {
        let fence = try self.fence()
        var book = RuleBook(
            [try Rule(name: "in", .enter(fence)), try Rule(name: "out", .leave(fence))], now: self.start)
        #expect(self.kinds(&book, [self.fix(10, 0), self.fix(20, 1)]) == [])
        #expect(self.kinds(&book, [self.fix(400, 2)]) == ["out 2.0"])
    }

    /// A step of the clock neither makes a trackable silent nor extends its time until silence.
    @Test(arguments: [3600.0, -3600]) func aClockThatIsSetMakesNoTrackableSilent(step: Double) throws {
        var book = RuleBook([try Rule(name: "quiet", .silent(.seconds(300)))], now: self.start)
        book.received(self.van, now: self.start)
        let now = self.start.advanced(by: .seconds(step))
        book.clockStepped(now: now)
        #expect(book.timerFired(now: now.advanced(by: .seconds(299))) == [])
        #expect(book.timerFired(now: now.advanced(by: .seconds(300))).map(\.kind) == [.silent])
    }

    @Test func aLatePointReportsNothing() throws {
        var book = RuleBook([try Rule(name: "in", .enter(try self.fence()))], now: self.start)
        _ = book.moved(self.van, self.fix(500, 100), now: self.start.advanced(by: .seconds(100)))
        // Older than the last position.
        #expect(book.moved(self.van, self.fix(0, 50), now: self.start.advanced(by: .seconds(101))) == [])
        // Newer than the last position, but received too late.
        #expect(book.moved(self.van, self.fix(0, 110), now: self.start.advanced(by: .seconds(600))) == [])
        // In the future.
        #expect(book.moved(self.van, self.fix(0, 1000), now: self.start.advanced(by: .seconds(600))) == [])
        #expect(book.moved(self.van, self.fix(0, 610), now: self.start.advanced(by: .seconds(610))).count == 1)
    }

    @Test func anUncertainFixReportsNothing() throws {
        var book = RuleBook([try Rule(name: "in", .enter(try self.fence()))], now: self.start)
        var vague = self.fix(0, 1)
        vague.accuracyHorizontal = 201
        #expect(self.kinds(&book, [self.fix(500, 0), vague]) == [])
    }

    @Test func dwellingIsReportedAtItsDeadline() throws {
        var book = RuleBook([try Rule(name: "stay", .dwell(try self.fence(), .seconds(60)))], now: self.start)
        #expect(self.kinds(&book, [self.fix(500, 0), self.fix(0, 10), self.fix(1, 20)]) == [])
        #expect(book.nextDeadline == self.start.advanced(by: .seconds(70)))
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(69))) == [])
        let reported = book.timerFired(now: self.start.advanced(by: .seconds(71)))
        #expect(reported.map(\.kind) == [.fenceDwelled])
        #expect(reported.first?.detail["fence"] == .text("depot"))
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(500))) == [])
    }

    @Test func aDepartureBeforeTheDeadlineIsNoDwelling() throws {
        var book = RuleBook([try Rule(name: "stay", .dwell(try self.fence(), .seconds(60)))], now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0), self.fix(0, 10), self.fix(500, 40), self.fix(0, 50)])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(70))) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(110))).count == 1)
    }

    @Test func silenceIsReportedOnceUntilTheNextMessage() throws {
        var book = RuleBook([try Rule(name: "quiet", .silent(.seconds(300)))], now: self.start)
        _ = self.kinds(&book, [self.fix(0, 0), self.fix(0, 100)])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(399))) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(400))).map(\.kind) == [.silent])
        #expect(book.nextDeadline == nil)
        _ = self.kinds(&book, [self.fix(0, 1000)])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1300))).count == 1)
    }

    @Test func speedingIsReportedOnceUntilTheSpeedFalls() throws {
        var book = RuleBook([try Rule(name: "fast", .speed(above: 20))], now: self.start)
        let speeds: [Double] = [10, 21, 19, 21, 25, 17, 21]
        let fixes = speeds.enumerated().map { self.fix(0, Double($0.offset), speed: $0.element) }
        #expect(self.kinds(&book, fixes) == ["fast 1.0", "fast 6.0"])
    }

    @Test func lowBatteryIsReportedOnceUntilTheChargeRises() throws {
        var book = RuleBook([try Rule(name: "low", .lowBattery(below: 20))], now: self.start)
        let levels = [0.21, 0.19, 0.21, 0.19, 0.5, 0.1]
        let fixes = levels.enumerated().map { self.fix(0, Double($0.offset), battery: $0.element) }
        #expect(self.kinds(&book, fixes) == ["low 1.0", "low 5.0"])
    }

    @Test func arrivalIsReportedByThePublisher() throws {
        var book = RuleBook([try Rule(name: "here", .arrived)], now: self.start)
        #expect(book.came(near: false, self.van, now: self.start) == [])
        #expect(book.came(near: true, self.van, now: self.start).map(\.kind) == [.arrived])
        #expect(book.came(near: true, self.van, now: self.start) == [])
    }

    @Test func aRuleAppliesOnlyToItsTrackables() throws {
        let other = try TrackableID("van-8")
        var book = RuleBook([try Rule(name: "fast", .speed(above: 20), of: [other])], now: self.start)
        let fixes = [self.fix(0, 0, speed: 1), self.fix(0, 1, speed: 30)]
        #expect(self.kinds(&book, fixes) == [])
        #expect(fixes.flatMap { book.moved(other, $0, now: $0.time) }.count == 1)
    }

    @Test func savedStatesContinueAfterARestart() throws {
        let rules = [try Rule(name: "in", .enter(try self.fence())), try Rule(name: "quiet", .silent(.seconds(300)))]
        var book = RuleBook(rules, now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0)])
        let kept = book.takeChanges()
        #expect(book.takeChanges() == [])
        let later = self.start.advanced(by: .seconds(3600))
        var next = RuleBook(rules, kept: kept, now: later)
        // The time without a connection does not count as silence.
        #expect(next.timerFired(now: later) == [])
        #expect(next.nextDeadline == later.advanced(by: .seconds(300)))
        #expect(next.moved(self.van, self.fix(0, 3601), now: later.advanced(by: .seconds(1))).map(\.rule) == ["in"])
    }

    @Test func aChangedRuleRestartsAndTheOthersContinue() throws {
        let quiet = try Rule(name: "quiet", .silent(.seconds(300)))
        var book = RuleBook([quiet, try Rule(name: "in", .enter(try self.fence()))], now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0)])
        let wide = try Fence(name: "depot", shape: .circle(center: self.depot, radius: 1000))
        book.replace([quiet, try Rule(name: "in", .enter(wide))], now: self.start)
        #expect(self.kinds(&book, [self.fix(0, 10)]) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(310))).map(\.rule) == ["quiet"])
    }

    @Test func changingAGroupKeepsTheStatesOfItsOtherMembers() throws {
        let other = try TrackableID("van-8")
        let fence = try self.fence()
        func rules(_ ids: Set<TrackableID>) throws -> [Rule] {
            [try Rule(name: "in", .enter(fence), of: ids), try Rule(name: "quiet", .silent(.seconds(300)), of: ids)]
        }
        var book = RuleBook(try rules([self.van, other]), now: self.start)
        for id in [self.van, other] { _ = book.moved(id, self.fix(500, 0), now: self.start) }
        _ = book.takeChanges()
        book.replace(try rules([self.van]), now: self.start)
        #expect(book.takeDropped() == [.init(trackable: other, rule: "in"), .init(trackable: other, rule: "quiet")])
        #expect(book.takeDropped() == [])
        #expect(self.kinds(&book, [self.fix(0, 10)]) == ["in 10.0"])
        // A trackable that is added to the rule again begins with its current position.
        _ = book.moved(other, self.fix(0, 15), now: self.start.advanced(by: .seconds(15)))
        book.replace(try rules([self.van, other]), now: self.start.advanced(by: .seconds(15)))
        #expect(book.moved(other, self.fix(0, 20), now: self.start.advanced(by: .seconds(20))) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(320))).map(\.trackable) == [self.van, other])
    }

    @Test func silenceCountsFromTheLastMessage() throws {
        var book = RuleBook([try Rule(name: "quiet", .silent(.seconds(60)))], now: self.start)
        // Fixes that are 70 s old, and one that is too late for all other rules.
        for second in [100.0, 110] {
            _ = book.moved(self.van, self.fix(0, second - 70), now: self.start.advanced(by: .seconds(second)))
            #expect(book.timerFired(now: self.start.advanced(by: .seconds(second))) == [])
        }
        book.received(self.van, now: self.start.advanced(by: .seconds(150)))
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(209))) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(210))).map(\.kind) == [.silent])
    }

    @Test func timeWithoutAConnectionIsNeitherSilenceNorDwelling() throws {
        let stay = try Rule(name: "stay", .dwell(try self.fence(), .seconds(600)))
        var book = RuleBook([try Rule(name: "quiet", .silent(.seconds(60))), stay], now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0), self.fix(0, 10)])
        book.connectionLost(now: self.start.advanced(by: .seconds(40)))
        book.connectionLost(now: self.start.advanced(by: .seconds(50)))
        #expect(book.nextDeadline == nil)
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1200))) == [])
        book.connected(now: self.start.advanced(by: .seconds(1240)))
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1299))) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1300))).map(\.rule) == ["quiet"])
        // The trackable dwelled for 30 s before the outage, and for the remaining time after it.
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1809))) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1810))).map(\.rule) == ["stay"])
    }

    @Test func dwellingCountsAnewAfterARestart() throws {
        let rules = [try Rule(name: "stay", .dwell(try self.fence(), .seconds(60)))]
        var book = RuleBook(rules, now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0), self.fix(0, 10)])
        let later = self.start.advanced(by: .seconds(3600))
        var next = RuleBook(rules, kept: book.takeChanges(), now: later)
        #expect(next.timerFired(now: later) == [])
        #expect(next.timerFired(now: later.advanced(by: .seconds(60))).map(\.rule) == ["stay"])
    }

    /// The trackable was inside when the gateway ended, drove off meanwhile, and reports the departure late.
    @Test func aLatePositionOutsideEndsAStay() throws {
        let rules = [
            try Rule(name: "out", .leave(try self.fence())),
            try Rule(name: "stay", .dwell(try self.fence(), .seconds(60))),
        ]
        var book = RuleBook(rules, now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0), self.fix(0, 10)])
        let later = self.start.advanced(by: .seconds(3600))
        var next = RuleBook(rules, kept: book.takeChanges(), now: later)
        #expect(next.moved(self.van, self.fix(900, 3000), now: later) == [])
        #expect(next.timerFired(now: later.advanced(by: .seconds(600))) == [])
        // The departure is reported with the first position in time.
        #expect(next.moved(self.van, self.fix(950, 3601), now: later).map(\.rule) == ["out"])
    }

    /// Without a subscriber, an update is published every half an hour.
    @Test func crossingsOnSkippedPointsAreReported() throws {
        let fence = try self.fence()
        var book = RuleBook(
            [try Rule(name: "in", .enter(fence)), try Rule(name: "out", .leave(fence))], now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0)])
        let now = self.start.advanced(by: .seconds(1800))
        let passed = [self.fix(0, 300), self.fix(500, 900)]
        #expect(
            book.moved(self.van, self.fix(900, 1800), passing: passed, now: now).map {
                "\($0.rule) \($0.time.since(self.start).inSeconds)"
            } == ["in 300.0", "out 900.0"])
        // A late update reports nothing.
        let later = self.start.advanced(by: .seconds(4000))
        #expect(book.moved(self.van, self.fix(900, 3600), passing: [self.fix(0, 3000)], now: later) == [])
    }

    // MARK: - Initial states

    @Test func anAddedRuleBeginsWithTheLastKnownPositions() throws {
        let (bus, fence) = (try TrackableID("bus"), try self.fence())
        var book = RuleBook([], now: self.start)
        for (id, distance) in [(self.van, 500.0), (bus, 10)] {
            _ = book.moved(id, self.fix(distance, 0), now: self.start)
            #expect(book.came(near: id == bus, id, now: self.start) == [])
        }
        let rules = [
            try Rule(name: "here", .arrived), try Rule(name: "in", .enter(fence)), try Rule(name: "out", .leave(fence)),
            try Rule(name: "stay", .dwell(fence, .seconds(60))),
        ]
        book.replace(rules, now: self.start.advanced(by: .seconds(100)))
        // The present state is not reported. Dwelling counts from now on for a trackable inside.
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(159))) == [])
        #expect(book.came(near: true, bus, now: self.start.advanced(by: .seconds(159))) == [])
        let stays = book.timerFired(now: self.start.advanced(by: .seconds(160)))
        #expect(stays.map(\.rule) == ["stay"] && stays.map(\.trackable) == [bus])
        // The first crossing is reported.
        #expect(self.kinds(&book, [self.fix(10, 170)]) == ["in 170.0"])
        #expect(book.came(near: true, self.van, now: self.start.advanced(by: .seconds(170))).map(\.rule) == ["here"])
        let left = book.moved(bus, self.fix(500, 171), now: self.start.advanced(by: .seconds(171)))
        #expect(left.map(\.rule) == ["out"])
    }

    /// A gateway that starts receives the retained position, which may be of any time.
    @Test func rulesBeginWithAnOldPosition() throws {
        let fence = try self.fence()
        let later = self.start.advanced(by: .seconds(7200))
        for isRuleFirst in [true, false] {
            let rules = [try Rule(name: "in", .enter(fence)), try Rule(name: "quiet", .silent(.seconds(300)))]
            var book = RuleBook(isRuleFirst ? rules : [], now: later)
            #expect(book.moved(self.van, self.fix(500, 0), now: later) == [])
            if !isRuleFirst { book.replace(rules, now: later) }
            #expect(book.timerFired(now: later.advanced(by: .seconds(299))) == [])
            let silent = book.timerFired(now: later.advanced(by: .seconds(300)))
            #expect(silent.map(\.kind) == [.silent] && silent.first?.location == self.fix(500, 0))
            #expect(book.timerFired(now: later.advanced(by: .seconds(9000))) == [])
            #expect(self.kinds(&book, [self.fix(10, 17_000)]) == ["in 17000.0"])
        }
    }

    @Test func aNamedTrackableWithoutMessagesIsSilent() throws {
        let bus = try TrackableID("bus")
        let quiet = try Rule(name: "quiet", .silent(.seconds(60)), of: [self.van])
        var book = RuleBook([quiet], now: self.start)
        book.connectionLost(now: self.start)
        book.connected(now: self.start.advanced(by: .seconds(5)))
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(64))) == [])
        let reported = book.timerFired(now: self.start.advanced(by: .seconds(65)))
        #expect(reported.map(\.trackable) == [self.van] && reported.first?.location == nil)
        // Kept as told: a restart does not tell it again.
        let later = self.start.advanced(by: .seconds(1000))
        var next = RuleBook([quiet], kept: book.takeChanges(), now: later)
        next.connectionLost(now: later)
        next.connected(now: later)
        #expect(next.timerFired(now: later.advanced(by: .seconds(1000))) == [])
        // For a rule that is added at run time, silence counts from then.
        next.replace([quiet, try Rule(name: "bus", .silent(.seconds(60)), of: [bus])], now: later)
        #expect(next.timerFired(now: later.advanced(by: .seconds(59))) == [])
        #expect(next.timerFired(now: later.advanced(by: .seconds(60))).map(\.rule) == ["bus"])
    }

    /// A silence that was reported before a restart is not reported again for the known retained position. It is
    /// reported again after a newer one.
    @Test func aKnownRetainedPositionDoesNotEndASilence() throws {
        let quiet = try Rule(name: "quiet", .silent(.seconds(30)))
        var book = RuleBook([quiet], now: self.start)
        book.received(self.van, now: self.start)
        _ = book.moved(self.van, self.fix(0, 0), now: self.start)
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(30))).count == 1)
        let later = self.start.advanced(by: .seconds(60))
        for (second, isReported) in [(0.0, false), (50, true)] {
            var next = RuleBook([quiet], kept: book.takeChanges(), now: later)
            _ = next.moved(self.van, self.fix(0, second), now: later)
            #expect(next.timerFired(now: later.advanced(by: .seconds(100))).count == (isReported ? 1 : 0))
            book = next
        }
    }

    @Test func aFirstPositionMayReportSpeedingAndLowBattery() throws {
        let rules = [try Rule(name: "fast", .speed(above: 20)), try Rule(name: "low", .lowBattery(below: 20))]
        var book = RuleBook(rules, now: self.start)
        #expect(self.kinds(&book, [self.fix(0, 1, speed: 21, battery: 0.14)]) == ["fast 1.0", "low 1.0"])
        #expect(self.kinds(&book, [self.fix(0, 2, speed: 22, battery: 0.13)]) == [])
        // An added rule reports with the next position.
        book.replace(try rules.map { try Rule(name: "new \($0.name)", $0.condition) }, now: self.start)
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(2))) == [])
        #expect(self.kinds(&book, [self.fix(0, 3, speed: 22, battery: 0.13)]) == ["new fast 3.0", "new low 3.0"])
    }

    @Test(arguments: [(0.14, 14.0), (0.29, 29), (0.145, 14.5), (0.123456, 12.3)])
    func theReportedChargeIsRoundedToATenthOfAPercent(level: Double, percent: Double) throws {
        var book = RuleBook([try Rule(name: "low", .lowBattery(below: 50))], now: self.start)
        let reported = book.moved(self.van, self.fix(0, 1, battery: level), now: self.start.advanced(by: .seconds(1)))
        #expect(reported.first?.detail["percent"] == .number(percent))
    }

    @Test func aForgottenTrackableBeginsAnew() throws {
        let fence = try self.fence()
        let rules = [
            try Rule(name: "in", .enter(fence)), try Rule(name: "mine", .silent(.seconds(60)), of: [self.van]),
            try Rule(name: "quiet", .silent(.seconds(60))),
        ]
        var book = RuleBook(rules, now: self.start)
        _ = self.kinds(&book, [self.fix(500, 0)])
        _ = book.takeChanges()
        book.forget(self.van, now: self.start.advanced(by: .seconds(10)))
        #expect(
            book.takeDropped() == [.init(trackable: self.van, rule: "in"), .init(trackable: self.van, rule: "quiet")])
        #expect(book.takeChanges().map(\.rule) == ["mine"])
        // A trackable that a rule names is expected again. Its earlier position is in no report.
        let silent = book.timerFired(now: self.start.advanced(by: .seconds(1000)))
        #expect(silent.map(\.rule) == ["mine"] && silent.first?.location == nil)
        #expect(self.kinds(&book, [self.fix(0, 1010)]) == [])
    }

    @Test func silenceOfAThousandFixesIsOneDeadline() throws {
        var book = RuleBook([try Rule(name: "quiet", .silent(.seconds(5)))], now: self.start)
        for second in 0..<1000 {
            _ = book.moved(self.van, self.fix(0, Double(second)), now: self.fix(0, Double(second)).time)
        }
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1003))) == [])
        #expect(book.timerFired(now: self.start.advanced(by: .seconds(1004))).count == 1)
    }
}
