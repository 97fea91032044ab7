import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct ReceiverPowerTests {
    private func fix(accuracy: Double? = 5) throws -> Location {
        var fix = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(1_790_000_000))
        fix.accuracyHorizontal = accuracy
        return fix
    }

    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }

    @Test func atIntervalsUpToAMinuteTheReceiverStaysAwake() throws {
        for milliseconds in [0, 1000, 60_000] {
            var power = ReceiverPower(resolution: .every(milliseconds: milliseconds), now: self.at(0))
            for second in 1...100 { #expect(power.received(try self.fix(), now: self.at(Double(second))) == nil) }
            #expect(power.deadline == nil)
            #expect(power.awakeResolution == .every(milliseconds: milliseconds))
        }
        let power = ReceiverPower(resolution: nil, now: self.at(0))
        #expect(power.deadline == nil && power.awakeResolution == nil)
    }

    @Test func betweenTwoFixesOfALongIntervalItSleepsAndWakesBeforeTheNextIsDue() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 120_000), now: self.at(0))
        #expect(power.awakeResolution == .every(milliseconds: 1000))
        #expect(power.received(try self.fix(), now: self.at(30)) == .sleep(until: self.at(140)), "10 s ahead")
        #expect(power.isAsleep && power.deadline == self.at(140))
        #expect(power.received(try self.fix(), now: self.at(30.1)) == nil, "the rest of a burst")
        #expect(power.timerFired(now: self.at(139)) == nil)
        #expect(power.timerFired(now: self.at(140)) == .wake)
        // The first fix comes after 2 s, and the receiver goes on until one is due.
        for second in 142...150 { #expect(power.received(try self.fix(), now: self.at(Double(second))) == nil) }
        #expect(power.received(try self.fix(), now: self.at(151)) == .sleep(until: self.at(267)), "4 s ahead")
    }

    @Test func aCoarseFirstFixIsWaitedForAsTheClassRequires() throws {
        for (accuracy, wait) in [(Resolution.Accuracy.low, 0.0), (.balanced, 3), (.high, 5), (.maximum, 10)] {
            var power = ReceiverPower(resolution: .every(milliseconds: 120_000, accuracy), now: self.at(0))
            for second in stride(from: 0, to: wait, by: 1) {
                #expect(power.received(try self.fix(accuracy: 200), now: self.at(second)) == nil, "\(accuracy)")
            }
            #expect(power.received(try self.fix(accuracy: 200), now: self.at(wait)) != nil, "\(accuracy)")
        }
    }

    @Test func aFinerResolutionWakesItWhenItsFixIsDue() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 600_000), now: self.at(0))
        #expect(power.received(try self.fix(), now: self.at(0)) == .sleep(until: self.at(590)))
        #expect(power.wanted(.every(milliseconds: 120_000), now: self.at(50)) == nil)
        #expect(power.deadline == self.at(110))
        #expect(power.wanted(.every(milliseconds: 900_000), now: self.at(60)) == nil)
        #expect(power.deadline == self.at(110), "a u-blox receiver wakes then by itself")
        #expect(power.wanted(.every(milliseconds: 1000), now: self.at(70)) == .wake, "a report, or a near destination")
        #expect(power.received(try self.fix(), now: self.at(72)) == nil)
        #expect(power.wanted(.every(milliseconds: 600_000), now: self.at(73)) == nil)
        #expect(power.received(try self.fix(), now: self.at(74)) == .sleep(until: self.at(667)))
        #expect(power.wanted(.every(milliseconds: 90_000), now: self.at(400)) == .wake, "it is overdue")
    }

    @Test func aReceiverThatStartsSlowlyWakesEarlierAndSleepsOnlyAtLongerIntervals() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 120_000), now: self.at(0))
        #expect(power.limit == .seconds(60))
        #expect(power.received(try self.fix(), now: self.at(0)) == .sleep(until: self.at(110)))
        #expect(power.timerFired(now: self.at(110)) == .wake)
        #expect(power.received(try self.fix(), now: self.at(145)) == nil)
        #expect(power.lead == .seconds(37) && power.limit == .seconds(148))
        for second in 146...400 { #expect(power.received(try self.fix(), now: self.at(Double(second))) == nil) }
        #expect(power.wanted(.every(milliseconds: 300_000), now: self.at(400)) == nil)
        #expect(power.received(try self.fix(), now: self.at(401)) == .sleep(until: self.at(543)))
    }

    @Test func slowStartsAreForgottenInTime() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 120_000), now: self.at(0))
        _ = power.received(try self.fix(), now: self.at(0))
        _ = power.timerFired(now: self.at(110))
        #expect(power.received(try self.fix(), now: self.at(145)) == nil && power.limit == .seconds(148))
        #expect(power.received(try self.fix(), now: self.at(1044)) == nil && power.limit == .seconds(148))
        #expect(power.received(try self.fix(), now: self.at(1045)) == nil && power.limit == .seconds(60))
        #expect(power.received(try self.fix(), now: self.at(1166)) == .sleep(until: self.at(1276)))
    }

    @Test func withoutAViewOfTheSkyItSearchesForALimitedTime() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 600_000), now: self.at(0))
        #expect(power.deadline == self.at(300), "a cold start")
        #expect(power.timerFired(now: self.at(300)) == .sleep(until: self.at(890)))
        #expect(power.timerFired(now: self.at(890)) == .wake)
        #expect(power.deadline == self.at(1010), "a longer search after a failed one")
        #expect(power.received(try self.fix(), now: self.at(895)) == nil)
        #expect(power.deadline == self.at(955), "the sky is lost again")
    }
}
