import Testing

@testable import TrackingCore

@Suite struct UpdateOrderTests {
    /// A point of stream `stream`, captured `seq` seconds after the epoch unless a time is given.
    private func point(_ seq: UInt64?, at time: Double? = nil, of stream: String? = "a") -> Location {
        var location = Location.fix(north: time ?? Double(seq ?? 0), at: time ?? Double(seq ?? 0))
        location.seq = seq
        location.stream = stream.flatMap { StreamID($0) }
        return location
    }

    private func update(
        _ seq: UInt64?, at time: Double? = nil, of stream: String? = "a", skipped: [Location] = []
    ) -> LocationUpdate {
        LocationUpdate(location: self.point(seq, at: time, of: stream), skipped: skipped)
    }

    // MARK: By seq

    @Test func higherNumbersAreCurrentAndLowerOnesLate() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(10)) == .current)
        #expect(order.consider(self.update(12)) == .current)
        #expect(order.consider(self.update(11)) == .late)
        #expect(order.consider(self.update(13)) == .current)
    }

    @Test func aRepeatedUpdateIsADuplicate() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(10)) == .current)
        #expect(order.consider(self.update(10)) == .duplicate)
        #expect(order.consider(self.update(9)) == .late)
        #expect(order.consider(self.update(9)) == .duplicate)
    }

    @Test func withinAStreamTheTimesPlayNoPart() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(1, at: 5_000)) == .current)
        #expect(order.consider(self.update(2, at: 0)) == .current)  // its clock was set back
        #expect(order.consider(self.update(3, at: 0)) == .current)
    }

    @Test func aPointSeenAsSkippedIsADuplicateByItself() {
        var order = UpdateOrder()
        let update = self.update(12, skipped: [self.point(11)])
        #expect(order.consider(update) == .current)
        #expect(order.newSkipped(update).map(\.seq) == [11])
        #expect(order.consider(self.update(11)) == .duplicate)
    }

    // MARK: Skipped points

    @Test func skippedPointsAreReturnedOnceAndInOrder() {
        var order = UpdateOrder()
        let first = self.update(4, skipped: [self.point(1), self.point(2), self.point(3)])
        #expect(order.consider(first) == .current)
        #expect(order.newSkipped(first).map(\.seq) == [1, 2, 3])
        #expect(order.newSkipped(first) == [])
        let second = self.update(7, skipped: [self.point(3), self.point(4), self.point(5), self.point(6)])
        #expect(order.consider(second) == .current)
        #expect(order.newSkipped(second).map(\.seq) == [5, 6])
    }

    @Test func aLateUpdateMayBringNewSkippedPoints() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(9)) == .current)
        let late = self.update(6, skipped: [self.point(4), self.point(5)])
        #expect(order.consider(late) == .late)
        #expect(order.newSkipped(late).map(\.seq) == [4, 5])
    }

    @Test func skippedPointsInheritTheStream() {
        var order = UpdateOrder()
        let update = self.update(3, skipped: [self.point(2, of: nil)])
        #expect(order.consider(update) == .current)
        #expect(order.newSkipped(update).map(\.stream) == [StreamID("a")])
        #expect(order.consider(self.update(2)) == .duplicate)
    }

    @Test func skippedPointsWithoutANumberAreReturnedOnce() {
        var order = UpdateOrder()
        let first = self.update(nil, at: 10, skipped: [self.point(nil, at: 8), self.point(nil, at: 9)])
        #expect(order.consider(first) == .current)
        #expect(order.newSkipped(first).map(\.time) == first.skipped.map(\.time))
        #expect(order.consider(first) == .duplicate)
        #expect(order.newSkipped(first) == [])
        // The second update repeats the last position before its own new point.
        let second = self.update(nil, at: 12, skipped: [self.point(nil, at: 10), self.point(nil, at: 11)])
        #expect(order.consider(second) == .current)
        #expect(order.newSkipped(second).map(\.time) == [self.point(nil, at: 11).time])
    }

    // MARK: By time

    @Test func withoutNumbersTheTimeOrders() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(nil, at: 10)) == .current)
        #expect(order.consider(self.update(nil, at: 10)) == .duplicate)
        #expect(order.consider(self.update(nil, at: 9)) == .late)
        #expect(order.consider(self.update(nil, at: 11)) == .current)
    }

    @Test func anOlderFixReplacesAPrediction() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(1, at: 10)) == .current)
        let prediction = LocationUpdate(location: self.point(nil, at: 15), kind: .predicted)
        #expect(order.consider(prediction) == .current)
        #expect(order.consider(prediction) == .duplicate)
        #expect(order.consider(self.update(2, at: 13)) == .current)
        #expect(order.consider(self.update(nil, at: 12)) == .late)  // a prediction that was overtaken
    }

    // MARK: Streams

    @Test func aNewStreamIsCurrentWithAnyNumberAndTime() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(4_711, at: 5_000, of: "a")) == .current)
        #expect(order.consider(self.update(1, at: 10, of: "b")) == .current)
        #expect(order.consider(self.update(2, at: 11, of: "b")) == .current)
    }

    @Test func aReplacedStreamReturnsOnlyWithALaterTime() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(1, at: 10, of: "a")) == .current)
        #expect(order.consider(self.update(1, at: 20, of: "b")) == .current)
        #expect(order.consider(self.update(2, at: 19, of: "a")) == .late)
        #expect(order.consider(self.update(2, at: 19, of: "a")) == .duplicate)
        #expect(order.consider(self.update(2, at: 21, of: "b")) == .current)
        #expect(order.consider(self.update(3, at: 30, of: "a")) == .current)
        #expect(order.consider(self.update(4, at: 1, of: "a")) == .current)  // it is the stream in place again
    }

    /// The other publisher's clock differed.
    @Test func theOwnersStreamComesBackWithAnyTime() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(1, at: 10, of: "a"), isOwners: true) == .current)
        #expect(order.consider(self.update(1, at: 90_000, of: "b"), isOwners: true) == .current)
        #expect(order.consider(self.update(2, at: 19, of: "a"), isOwners: true) == .current)
        #expect(order.consider(self.update(2, at: 19, of: "a"), isOwners: true) == .duplicate)
        #expect(order.consider(self.update(1, at: 10, of: "a"), isOwners: true) == .duplicate)
    }

    @Test func theSameNumberInTwoStreamsIsTwoPoints() {
        var order = UpdateOrder()
        #expect(order.consider(self.update(1, at: 1, of: "a")) == .current)
        #expect(order.consider(self.update(1, at: 2, of: "b")) == .current)
        #expect(order.consider(self.update(1, at: 2, of: "b")) == .duplicate)
    }

    @Test func theStreamWithoutUpdatesForLongestIsForgotten() {
        var order = UpdateOrder()
        for number in 0..<UpdateOrder.maximumStreams {
            #expect(order.consider(self.update(5, at: Double(number), of: "s\(number)")) == .current)
        }
        #expect(order.consider(self.update(5, at: 100, of: "s0")) == .duplicate)  // received again
        #expect(order.consider(self.update(5, at: 101, of: "new")) == .current)
        #expect(order.consider(self.update(5, at: 100, of: "s0")) == .duplicate)
        #expect(order.consider(self.update(5, at: 1, of: "s1")) == .current)  // forgotten, hence new
    }

    @Test(arguments: UInt64(1)...6) func everyPointIsReturnedOnceAndTheCurrentOnlyRises(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var order = UpdateOrder()
        var delivered: [UInt64] = []
        var current: UInt64 = 0
        var updates = (0..<60).map { number in
            let base = UInt64(number) * 5 + 1
            return self.update(base + 4, skipped: (0..<4).map { self.point(base + $0) })
        }
        // Each update is delivered twice, and slightly out of order.
        updates = (updates + updates).enumerated()
            .sorted { $0.offset % 60 + Int($0.offset / 60) * 3 < $1.offset % 60 + Int($1.offset / 60) * 3 }
            .map(\.element)
        for start in stride(from: 0, to: updates.count, by: 6) {
            updates[start..<(start + 6)].shuffle(using: &generator)
        }
        for update in updates {
            let verdict = order.consider(update)
            if verdict == .current {
                #expect(update.location.seq ?? 0 > current)
                current = update.location.seq ?? 0
            }
            if verdict != .duplicate { delivered.append(update.location.seq ?? 0) }
            delivered += order.newSkipped(update).map { $0.seq ?? 0 }
        }
        #expect(delivered.sorted() == Array(1...300))
    }
}
