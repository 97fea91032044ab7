import Testing

@testable import TrackingCore

/// The rounds in which a client asks for retained messages that did not arrive.
@Suite struct RetainedGapsTests {
    private var gaps = RetainedGaps()
    private var now = MonotonicTime(.zero)
    private let van = TrackableID(literal: "van")

    private mutating func wait(_ milliseconds: Int) -> RetainedGaps.Round? {
        self.now = self.now.advanced(by: .milliseconds(milliseconds))
        return self.gaps.timerFired(now: self.now)
    }

    private mutating func arrived(_ id: TrackableID, _ kinds: RetainedGaps.Kind) {
        self.gaps.arrived(id, kinds, now: self.now)
    }

    @Test mutating func aMessageThatArrivesSoonIsNotAskedFor() {
        self.gaps.missing(self.van, .position, now: self.now)
        #expect(self.wait(249) == nil && self.gaps.isAskingForPositions)
        self.arrived(self.van, .position)
        #expect(self.wait(1) == nil)
        #expect(!self.gaps.isAskingForPositions && self.gaps.isEmpty && self.gaps.nextDeadline == nil)
    }

    @Test mutating func everyKindMustArrive() {
        self.gaps.missing(self.van, .position, now: self.now)
        self.gaps.missing(self.van, .state, now: self.now)
        #expect(self.wait(250) == RetainedGaps.Round(asked: [self.van]))
        self.arrived(self.van, .state)
        #expect(!self.gaps.isEmpty)
        self.arrived(self.van, .position)
        #expect(self.gaps.isEmpty)
        #expect(self.wait(0) == RetainedGaps.Round(ended: [self.van]), "the round ends with its last message")
    }

    @Test mutating func aTrackableWithoutTheMessageIsAskedForThreeTimes() {
        self.gaps.missing(self.van, .position, now: self.now)
        #expect(self.wait(250) == RetainedGaps.Round(asked: [self.van]))
        for pause in [5_000, 60_000] {
            #expect(self.wait(500) == RetainedGaps.Round(ended: [self.van]))
            #expect(self.wait(pause - 1) == nil && !self.gaps.isAskingForPositions)
            #expect(self.wait(1) == RetainedGaps.Round(asked: [self.van]))
        }
        #expect(self.wait(500) == RetainedGaps.Round(ended: [self.van]))
        #expect(self.gaps.nextDeadline == nil)
        self.gaps.missing(self.van, .position, now: self.now)
        #expect(self.gaps.nextDeadline == nil, "no more on this connection")
        self.gaps.disconnected()
        self.gaps.missing(self.van, .position, now: self.now)
        #expect(self.gaps.nextDeadline != nil)
    }

    @Test mutating func manyAreAskedForInRounds() throws {
        let ids = try (0..<600).map { try TrackableID("van-\($0)") }
        for id in ids { self.gaps.missing(id, .position, now: self.now) }
        #expect(self.wait(250)?.asked.count == 200)
        for id in ids[..<200] { self.arrived(id, .position) }
        let second = self.wait(0)
        #expect(second?.ended == Array(ids[..<200]) && second?.asked == Array(ids[200..<400]))
        self.gaps.forget(ids[400])
        #expect(self.wait(500)?.asked == Array(ids[401...]))
    }

    @Test mutating func aRoundLastsWhileItsMessagesArrive() throws {
        let ids = try (0..<3).map { try TrackableID("van-\($0)") }
        for id in ids { self.gaps.missing(id, .position, now: self.now) }
        #expect(self.wait(250)?.asked == ids)
        for id in ids[..<2] {
            #expect(self.wait(499) == nil)
            self.arrived(id, .position)
        }
        #expect(self.wait(499) == nil)
        self.arrived(ids[1], .position)
        #expect(self.wait(1)?.ended == ids, "a message that was not missing does not prolong the round")
    }

    @Test mutating func aMessageThatWasAskedForProvesThatTheBrokerDroppedSome() throws {
        let ids = try (0..<3).map { try TrackableID("van-\($0)") }
        for id in ids { self.gaps.missing(id, .position, now: self.now) }
        self.gaps.arrived(ids[0], .position, now: self.now)
        #expect(!self.gaps.provesDrops, "it was not asked for yet")
        #expect(self.wait(250)?.asked == Array(ids[1...]))
        self.gaps.cleared(ids[1], now: self.now)
        #expect(!self.gaps.provesDrops, "a position that is cleared was not dropped")
        self.gaps.arrived(ids[2], .position, now: self.now)
        #expect(self.gaps.provesDrops)
        self.gaps.disconnected()
        #expect(!self.gaps.provesDrops)
    }

    @Test mutating func aRoundLastsUntilTheBrokerHasAnsweredItsPackets() {
        self.gaps.missing(self.van, .position, now: self.now)
        #expect(self.wait(250)?.asked == [self.van])
        self.gaps.sent(packets: 2, now: self.now)
        #expect(self.wait(9_000) == nil)
        self.gaps.answered(now: self.now)
        #expect(self.wait(600) == nil)
        self.gaps.answered(now: self.now)
        #expect(self.wait(499) == nil)
        #expect(self.wait(1)?.ended == [self.van])
    }

    @Test mutating func aRoundWithoutAnAnswerEndsAfterTenSeconds() {
        self.gaps.missing(self.van, .position, now: self.now)
        #expect(self.wait(250)?.asked == [self.van])
        self.gaps.sent(packets: 1, now: self.now)
        #expect(self.wait(9_999) == nil)
        #expect(self.wait(1)?.ended == [self.van])
    }

    @Test mutating func aMissingStateIsNoMissingPosition() {
        self.gaps.missing(self.van, .state, now: self.now)
        #expect(!self.gaps.isAskingForPositions)
        #expect(self.wait(250) == RetainedGaps.Round(asked: [self.van]))
        #expect(!self.gaps.isAskingForPositions)
    }
}
