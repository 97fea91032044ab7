import Testing

@testable import TrackingCore

/// The slices in which a client sends its subscriptions, so that the retained messages fit into the broker's queue.
@Suite struct SubscriptionSlicesTests {
    private var slices = SubscriptionSlices<TopicFilter>()
    private var now = MonotonicTime(.zero)

    private mutating func next(trackables: Int) -> [[TopicFilter]] {
        self.slices.next(now: self.now) { $0.retainedMessages(of: trackables) }
    }

    private mutating func wait(_ milliseconds: Int) -> Bool {
        self.now = self.now.advanced(by: .milliseconds(milliseconds))
        return self.slices.isQuiet(now: self.now)
    }

    private mutating func answered() { self.slices.answered(now: self.now) }

    @Test mutating func positionsComeAloneAndTheRestWhenTheyAreQuiet() {
        self.slices.begin([.everyLocation, .everyEvent, .everyPublisher, .everyResolution, .everyTrip])
        #expect(self.next(trackables: 0) == [[.everyLocation, .everyEvent]])
        #expect(self.slices.deadline == nil, "the broker has not answered yet")
        self.answered()
        #expect(self.wait(99) == false)
        self.slices.received(now: self.now)
        #expect(self.wait(99) == false)
        #expect(self.wait(1) == true)
        #expect(self.next(trackables: 200) == [[.everyPublisher, .everyResolution, .everyTrip]])
        #expect(self.slices.isAllSent && !self.slices.isComplete)
        self.answered()
        #expect(self.wait(100) == true)
        #expect(self.slices.isComplete)
    }

    @Test mutating func eachFilterOfManyTrackablesIsASlice() {
        self.slices.begin([.everyPublisher, .everyResolution, .everyTrip])
        #expect(self.next(trackables: 10_000) == [[.everyPublisher]])
        #expect(self.next(trackables: 10_000) == [[.everyResolution]])
        #expect(self.next(trackables: 400) == [[.everyTrip]])
    }

    @Test mutating func namedTopicsFillASliceInSeveralPackets() throws {
        let filters = try (0..<1_000).map { TopicFilter.topic(.location(try TrackableID("van-\($0)"))) }
        self.slices.begin(filters)
        self.slices.remove([filters[0]])
        #expect(self.next(trackables: 0).map(\.count) == [200, 200, 200, 200])
        for _ in 1...3 { self.answered() }
        #expect(self.slices.deadline == nil)
        self.answered()
        #expect(self.wait(100) == true)
        #expect(self.next(trackables: 0).map(\.count) == [199])
    }

    @Test mutating func aSlowConnectionIsGivenLongerAndAnEndlessFlowAnEnd() {
        self.slices.begin([.everyLocation, .everyTrip])
        _ = self.next(trackables: 0)
        _ = self.wait(60)
        self.answered()
        #expect(self.wait(239) == false)
        #expect(self.wait(1) == true, "four times the time of the answer")
        _ = self.next(trackables: 900)
        self.answered()
        for _ in 0..<50 {
            self.slices.received(now: self.now)
            #expect(self.wait(99) == false)
        }
        self.slices.received(now: self.now)
        #expect(self.wait(50) == true, "5 s")
    }

    @Test mutating func aLostConnectionEndsTheSlices() {
        self.slices.begin([.everyLocation, .everyTrip])
        _ = self.next(trackables: 0)
        self.answered()
        self.slices.disconnected()
        #expect(self.slices.deadline == nil && self.next(trackables: 0).isEmpty)
    }
}
