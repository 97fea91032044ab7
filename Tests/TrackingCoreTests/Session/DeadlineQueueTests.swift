import Testing

@testable import TrackingCore

@Suite struct DeadlineQueueTests {
    @Test func theNextIsTheEarliest() {
        var queue = DeadlineQueue<String>()
        #expect(queue.next == nil)
        queue.set("b", deadline: .seconds(20))
        queue.set("a", deadline: .seconds(10))
        #expect(queue.next == .seconds(10))
        #expect(queue.deadline(of: "b") == .seconds(20))
        #expect(queue.count == 2)
    }

    @Test func aDeadlineExpiresAtItsMomentAndOnce() {
        var queue = DeadlineQueue<String>()
        queue.set("a", deadline: .seconds(10))
        #expect(queue.popExpired(now: .seconds(9.999)) == [])
        #expect(queue.popExpired(now: .seconds(10)) == ["a"])
        #expect(queue.popExpired(now: .seconds(11)) == [])
        #expect(queue.isEmpty)
    }

    @Test func expiredKeysComeInOrder() {
        var queue = DeadlineQueue<String>()
        queue.set("c", deadline: .seconds(3))
        queue.set("first", deadline: .seconds(2))
        queue.set("second", deadline: .seconds(2))
        queue.set("a", deadline: .seconds(1))
        #expect(queue.popExpired(now: .seconds(5)) == ["a", "first", "second", "c"])
    }

    @Test func settingAgainReplaces() {
        var queue = DeadlineQueue<String>()
        queue.set("a", deadline: .seconds(10))
        queue.set("a", deadline: .seconds(30))
        #expect(queue.next == .seconds(30))
        #expect(queue.popExpired(now: .seconds(20)) == [])
        queue.set("a", deadline: .seconds(5))
        #expect(queue.popExpired(now: .seconds(20)) == ["a"])
        #expect(queue.popExpired(now: .seconds(60)) == [])
    }

    @Test func removingAKeyRemovesItsDeadline() {
        var queue = DeadlineQueue<String>()
        queue.set("a", deadline: .seconds(10))
        queue.set("b", deadline: .seconds(20))
        #expect(queue.remove("a") == .seconds(10))
        #expect(queue.remove("a") == nil)
        #expect(queue.next == .seconds(20))
    }

    @Test func renewedLeasesDoNotAccumulate() {
        var queue = DeadlineQueue<Int>()
        queue.set(0, deadline: .seconds(1))
        for second in 1...10_000 { queue.set(1, deadline: .seconds(Double(second))) }
        #expect(queue.count == 2)
        #expect(queue.heapCount < 50)
    }

    @Test(arguments: UInt64(1)...4) func itAgreesWithADictionary(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var queue = DeadlineQueue<Int>()
        var model: [Int: MonotonicTime] = [:]
        var now = MonotonicTime.seconds(0)
        for _ in 0..<3_000 {
            let key = Int.random(in: 0..<50, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0, 1:
                let deadline = now.advanced(by: .seconds(.random(in: 0..<90, using: &generator)))
                queue.set(key, deadline: deadline)
                model[key] = deadline
            case 2: #expect(queue.remove(key) == model.removeValue(forKey: key))
            default:
                now = now.advanced(by: .seconds(.random(in: 0..<5, using: &generator)))
                let due = model.filter { $0.value <= now }
                #expect(Set(queue.popExpired(now: now)) == Set(due.keys))
                for key in due.keys { model[key] = nil }
            }
            #expect(queue.next == model.values.min())
            #expect(queue.count == model.count)
        }
    }
}
