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
        #expect(power.received(try self.fix(), now: self.at(30)) == .sleep(until: self.at(135)), "15 s ahead")
        #expect(power.isAsleep && power.deadline == self.at(135) && power.asleepUntil == self.at(135))
        #expect(power.received(try self.fix(), now: self.at(30.1)) == nil, "the rest of a burst")
        #expect(power.timerFired(now: self.at(134)) == nil)
        #expect(power.timerFired(now: self.at(135)) == .wake)
        #expect(power.asleepUntil == nil)
        // The first fix comes after 2 s, and the receiver goes on until one is due.
        for second in 137...150 { #expect(power.received(try self.fix(), now: self.at(Double(second))) == nil) }
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

    /// The fix that is due has the wanted accuracy: at first for the longest time that the class allows, and later for
    /// the time that the receiver needed.
    @Test func theReceiverIsWokenEarlyEnoughForAnAccurateFix() throws {
        for (accuracy, radius, allowed) in [
            (Resolution.Accuracy.low, 200.0, 0.0), (.balanced, 30, 3), (.high, 10, 5), (.maximum, 3, 10),
        ] {
            var power = ReceiverPower(resolution: .every(milliseconds: 120_000, accuracy), now: self.at(0))
            #expect(power.received(try self.fix(accuracy: radius), now: self.at(0)) != nil)
            var (due, settling) = (120.5, allowed)
            for round in 1...3 {
                let wake = try #require(power.deadline)
                #expect(power.timerFired(now: wake) == .wake)
                // Fixes from 2 s after waking on; they become accurate after 0.8 of the allowed time.
                var second = wake.sinceOrigin.inSeconds + 2
                let accurate = second + 0.8 * allowed
                #expect(accurate <= due, "\(accuracy), round \(round): the due fix is accurate")
                var effect: ReceiverPower.Effect?
                while effect == nil {
                    let fix = try self.fix(accuracy: second < accurate ? radius * 4 : radius)
                    effect = power.received(fix, now: self.at(second))
                    second += 0.5
                }
                settling = (0.8 * allowed / 0.5).rounded(.up) * 0.5
                #expect(power.lead == .seconds(4 + settling), "\(accuracy)")
                due = second - 0.5 + 120
                #expect(effect == .sleep(until: self.at(due - 4 - settling)), "\(accuracy), round \(round)")
            }
        }
    }

    /// A loss of reception after the first fix says nothing about the time that the receiver needs.
    @Test func aGapAfterTheFirstFixDoesNotKeepTheReceiverAwake() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 70_000), now: self.at(0))
        #expect(power.received(try self.fix(), now: self.at(0)) == .sleep(until: self.at(55)))
        #expect(power.timerFired(now: self.at(55)) == .wake)
        #expect(power.received(try self.fix(accuracy: 200), now: self.at(57)) == nil)
        #expect(power.received(try self.fix(accuracy: 200), now: self.at(116)) == .sleep(until: self.at(177)))
        #expect(power.lead == .seconds(9) && power.lead < power.limit)
    }

    @Test func anotherClassOfAccuracyHasItsOwnTime() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 120_000, .balanced), now: self.at(0))
        _ = power.received(try self.fix(), now: self.at(0))
        _ = power.timerFired(now: self.at(107))
        _ = power.received(try self.fix(), now: self.at(109))
        #expect(power.lead == .seconds(4), "accurate at once")
        _ = power.wanted(.every(milliseconds: 120_000, .maximum), now: self.at(110))
        #expect(power.lead == .seconds(14))
        _ = power.wanted(.every(milliseconds: 90_000, .maximum), now: self.at(111))
        #expect(power.lead == .seconds(14) && power.limit == .seconds(60))
    }

    @Test func aFinerResolutionWakesItWhenItsFixIsDue() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 600_000), now: self.at(0))
        #expect(power.received(try self.fix(), now: self.at(0)) == .sleep(until: self.at(585)))
        #expect(power.wanted(.every(milliseconds: 120_000), now: self.at(50)) == nil)
        #expect(power.deadline == self.at(105))
        #expect(power.wanted(.every(milliseconds: 900_000), now: self.at(60)) == nil)
        #expect(power.deadline == self.at(105), "a u-blox receiver wakes then by itself")
        #expect(power.wanted(.every(milliseconds: 1000), now: self.at(70)) == .wake, "a report, or a near destination")
        #expect(power.received(try self.fix(), now: self.at(72)) == nil)
        #expect(power.wanted(.every(milliseconds: 600_000), now: self.at(73)) == nil)
        #expect(power.received(try self.fix(), now: self.at(74)) == .sleep(until: self.at(667)))
        #expect(power.wanted(.every(milliseconds: 90_000), now: self.at(400)) == .wake, "it is overdue")
    }

    @Test func aReceiverThatStartsSlowlyWakesEarlierAndSleepsOnlyAtLongerIntervals() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 120_000), now: self.at(0))
        #expect(power.limit == .seconds(60))
        #expect(power.received(try self.fix(), now: self.at(0)) == .sleep(until: self.at(105)))
        #expect(power.timerFired(now: self.at(105)) == .wake)
        #expect(power.received(try self.fix(), now: self.at(140)) == nil)
        #expect(power.lead == .seconds(37) && power.limit == .seconds(148))
        for second in 141...400 { #expect(power.received(try self.fix(), now: self.at(Double(second))) == nil) }
        #expect(power.wanted(.every(milliseconds: 300_000), now: self.at(400)) == nil)
        #expect(power.received(try self.fix(), now: self.at(401)) == .sleep(until: self.at(543)))
    }

    @Test func slowStartsAreForgottenInTime() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 120_000), now: self.at(0))
        _ = power.received(try self.fix(), now: self.at(0))
        _ = power.timerFired(now: self.at(105))
        #expect(power.received(try self.fix(), now: self.at(140)) == nil && power.limit == .seconds(148))
        #expect(power.received(try self.fix(), now: self.at(1039)) == nil && power.limit == .seconds(148))
        #expect(power.received(try self.fix(), now: self.at(1040)) == nil && power.limit == .seconds(60))
        #expect(power.received(try self.fix(), now: self.at(1161)) == .sleep(until: self.at(1271)))
    }

    @Test func withoutAViewOfTheSkyItSearchesForALimitedTime() throws {
        var power = ReceiverPower(resolution: .every(milliseconds: 600_000), now: self.at(0))
        #expect(power.deadline == self.at(300), "a cold start")
        #expect(power.timerFired(now: self.at(300)) == .sleep(until: self.at(885)))
        #expect(power.timerFired(now: self.at(885)) == .wake)
        #expect(power.deadline == self.at(1005), "a longer search after a failed one")
        #expect(power.received(try self.fix(), now: self.at(890)) == nil)
        #expect(power.deadline == self.at(950), "the sky is lost again")
    }
}
