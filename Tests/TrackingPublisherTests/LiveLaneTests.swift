import Testing
import TrackingCore

@testable import TrackingPublisher

@Suite struct LiveLaneTests {
    private let wall = UnixTime(1_000_000)

    private func lane(every interval: Duration = .seconds(10), silence: Duration? = nil) throws -> LiveLane {
        let resolution = try Resolution(accuracy: .high, desiredInterval: interval, minimumDisplacement: 0)
        return LiveLane(filter: LocationFilter(resolution: resolution, rule: .both, maximumSilence: silence))
    }

    private func fix(_ seq: UInt64, at second: Double) throws -> Location {
        var fix = Location(coordinate: try #require(Coordinate(latitude: 0, longitude: 1)), time: UnixTime(second))
        fix.seq = seq
        return fix
    }

    private func time(_ second: Double) -> MonotonicTime { MonotonicTime(.seconds(second)) }

    @discardableResult
    private func capture(_ lane: inout LiveLane, _ seq: UInt64, at second: Double) throws -> LocationFilter.Verdict {
        lane.captured(try self.fix(seq, at: second), now: self.time(second), wallClock: self.wall)
    }

    @Test func oneUpdateIsInFlightAndTheNewestWaits() throws {
        var lane = try self.lane()
        #expect(try self.capture(&lane, 1, at: 0) == .first)
        #expect(lane.next(now: self.time(0))?.location.seq == 1)
        #expect(try self.capture(&lane, 2, at: 10) == .sent)
        #expect(lane.next(now: self.time(10)) == nil)
        #expect(try self.capture(&lane, 3, at: 20) == .sent)
        lane.acknowledged()
        let update = lane.next(now: self.time(20))
        #expect(update?.location.seq == 3)
        #expect(update?.skipped.map(\.seq) == [2])
    }

    @Test func whatWasNotSentRidesAlong() throws {
        var lane = try self.lane()
        for second in 0...10 {
            try self.capture(&lane, UInt64(second + 1), at: Double(second))
            if let update = lane.next(now: self.time(Double(second))), second == 10 {
                #expect(update.location.seq == 11)
                #expect(update.skipped.map(\.seq) == (2...10).map { UInt64($0) })
            }
            lane.acknowledged()
        }
        #expect(lane.isIdle)
    }

    @Test func atMostSixtyRideAlongTheNewest() throws {
        var lane = try self.lane(every: .seconds(1_000))
        for second in 0...1_000 {
            try self.capture(&lane, UInt64(second + 1), at: Double(second))
            if second == 0 { _ = lane.next(now: self.time(0)) }
        }
        lane.acknowledged()
        #expect(lane.next(now: self.time(1_000))?.skipped.map(\.seq) == (941...1_000).map { UInt64($0) })
    }

    @Test func aLostUpdateIsQueuedAgainWithItsPositions() throws {
        var lane = try self.lane()
        try self.capture(&lane, 1, at: 0)
        _ = lane.next(now: self.time(0))
        lane.acknowledged()
        try self.capture(&lane, 2, at: 5)
        try self.capture(&lane, 3, at: 10)
        _ = lane.next(now: self.time(10))
        lane.failed()
        let update = lane.next(now: self.time(11))
        #expect(update?.location.seq == 3)
        #expect(update?.skipped.map(\.seq) == [2])
    }

    @Test func aLostUpdateRidesAlongWithANewerOne() throws {
        var lane = try self.lane()
        try self.capture(&lane, 1, at: 0)
        _ = lane.next(now: self.time(0))
        try self.capture(&lane, 2, at: 10)
        lane.failed()
        let update = lane.next(now: self.time(11))
        #expect(update?.location.seq == 2)
        #expect(update?.skipped.map(\.seq) == [1])
    }

    @Test func forgottenPositionsAreNotPublishedAgainAndNewerOnesRemain() throws {
        var lane = try self.lane()
        try self.capture(&lane, 1, at: 0)
        _ = lane.next(now: self.time(0))
        lane.acknowledged()
        try self.capture(&lane, 2, at: 5)
        lane.forget(through: try self.fix(1, at: 0))
        #expect(lane.again(now: self.time(6)) == nil)
        try self.capture(&lane, 3, at: 10)
        let next = lane.next(now: self.time(10))
        #expect(next?.location.seq == 3 && next?.skipped == [])
        // A position that is newer than the last published one, and in flight.
        try self.capture(&lane, 4, at: 15)
        lane.forget(through: try self.fix(1, at: 0))
        lane.failed()
        #expect(lane.next(now: self.time(16))?.location.seq == 3)
        lane.acknowledged()
        #expect(lane.again(now: self.time(17))?.location.seq == 3)
        // A published position that the broker has not acknowledged yet.
        lane.forget(through: try self.fix(3, at: 10))
        lane.failed()
        #expect(lane.next(now: self.time(18)) == nil && lane.again(now: self.time(18)) == nil)
    }

    @Test func theBrokersAnswerCountsForAllOfWhatIsForgottenOnItsWay() throws {
        var lane = try self.lane()
        try self.capture(&lane, 1, at: 0)
        _ = lane.next(now: self.time(0))
        lane.acknowledged()
        try self.capture(&lane, 2, at: 5)
        try self.capture(&lane, 3, at: 10)
        _ = lane.next(now: self.time(10))
        lane.forget(through: nil)
        #expect(lane.acknowledged() == SeqSet([2...3]))
    }

    @Test func silenceIsCountedFromTheLastSending() throws {
        var lane = try self.lane(silence: .seconds(30))
        #expect(lane.silenceDeadline(isHolding: false) == nil)
        try self.capture(&lane, 1, at: 0)
        _ = lane.next(now: self.time(0))
        #expect(lane.silenceDeadline(isHolding: false) == nil)
        lane.acknowledged()
        #expect(lane.silenceDeadline(isHolding: false) == self.time(30))
        lane.endSilence(now: self.time(30), wallClock: self.wall)
        #expect(lane.again(now: self.time(30))?.location.seq == 1)
        lane.acknowledged()
        #expect(lane.silenceDeadline(isHolding: false) == self.time(60))
    }

    @Test func noSilenceLimitMeansNever() throws {
        var lane = try self.lane(silence: .zero)
        try self.capture(&lane, 1, at: 0)
        _ = lane.next(now: self.time(0))
        lane.acknowledged()
        #expect(lane.silenceDeadline(isHolding: false) == nil)
    }

    @Test func whenItEndsTheNewestGoesOutAndTakesTheRestAlong() throws {
        var lane = try self.lane()
        try self.capture(&lane, 1, at: 0)
        _ = lane.next(now: self.time(0))
        try self.capture(&lane, 2, at: 10)
        try self.capture(&lane, 3, at: 10)
        lane.finish(wallClock: self.wall)
        lane.acknowledged()
        let update = lane.next(now: self.time(10))
        #expect(update?.location.seq == 3)
        #expect(update?.skipped.map(\.seq) == [2])
    }

    /// The last retained position is not a fix with a future time.
    @Test func whatIsAheadIsNotTheLastPosition() throws {
        var lane = try self.lane()
        try self.capture(&lane, 1, at: 10)
        _ = lane.next(now: self.time(10))
        lane.acknowledged()
        try self.capture(&lane, 2, at: 12)
        try self.capture(&lane, 3, at: 1_000_061)
        lane.finish(wallClock: self.wall)
        #expect(lane.next(now: self.time(15))?.location.seq == 2)
        lane.acknowledged()
        lane.finish(wallClock: self.wall)
        #expect(lane.isIdle)
    }

    /// A receiver whose clock goes back at the end of a drive: the order of the stream counts.
    @Test func whatIsOutOfOrderAtTheEndGoesOutAsWell() throws {
        var lane = try self.lane()
        try self.capture(&lane, 1, at: 10)
        _ = lane.next(now: self.time(10))
        lane.acknowledged()
        try self.capture(&lane, 2, at: 12)
        try self.capture(&lane, 3, at: 5)
        lane.finish(wallClock: self.wall)
        let update = lane.next(now: self.time(15))
        #expect(update?.location.seq == 3 && update?.skipped.map(\.seq) == [2])
    }

    /// A recording of a receiver with a week rollover: all of its times are in the future.
    @Test func whereAllIsAheadTheLastGoesOutAtTheEnd() throws {
        var lane = try self.lane()
        for number in 1...3 { try self.capture(&lane, UInt64(number), at: 1_000_100 + Double(number)) }
        #expect(lane.next(now: self.time(0)) == nil)
        lane.finish(wallClock: self.wall)
        let update = lane.next(now: self.time(0))
        #expect(update?.location.seq == 3 && update?.skipped.map(\.seq) == [1, 2])
    }

    @Test func theFixAfterARepeatIsJudgedByTheRule() throws {
        var lane = try self.lane(every: .seconds(100), silence: .seconds(30))
        try self.capture(&lane, 1, at: 0)
        #expect(lane.next(now: self.time(0)) != nil)
        lane.acknowledged()
        #expect(lane.again(now: self.time(30)) != nil)
        lane.acknowledged()
        #expect(try self.capture(&lane, 2, at: 31) == .tooSoon)
    }
}
