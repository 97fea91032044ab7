import Testing

@testable import TrackingCore

@Suite struct RequestBookTests {
    @Test func anEmptyBookHasNoFinest() {
        let book = RequestBook()
        #expect(book.finest == nil)
        #expect(book.isEmpty)
    }

    @Test func theFinestIsAHybridOfAll() {
        var book = RequestBook()
        book.set(SubscriberID(1), to: Resolution(.low, every: 500, moving: 90))
        book.set(SubscriberID(2), to: Resolution(.maximum, every: 9_000, moving: 80))
        book.set(SubscriberID(3), to: Resolution(.balanced, every: 7_000, moving: 1))
        #expect(book.finest == Resolution(.maximum, every: 500, moving: 1))
        #expect(book.count == 3)
    }

    @Test func aNewRequestReplacesTheOldOneOfTheSameSubscriber() {
        var book = RequestBook()
        book.set(SubscriberID(1), to: Resolution(.maximum, every: 100, moving: 0))
        book.set(SubscriberID(1), to: Resolution(.low, every: 5_000, moving: 10))
        #expect(book.finest == Resolution(.low, every: 5_000, moving: 10))
        #expect(book.count == 1)
    }

    @Test func twoSessionsOfOneClientAreTwoSubscribers() {
        var book = RequestBook()
        book.set(SubscriberID(1, session: "a"), to: Resolution(.high, every: 100, moving: 0))
        book.set(SubscriberID(1, session: "b"), to: Resolution(.low, every: 5_000, moving: 10))
        #expect(book.count == 2)
        #expect(book.remove(SubscriberID(1, session: "a")) == Resolution(.high, every: 100, moving: 0))
        #expect(book.finest == Resolution(.low, every: 5_000, moving: 10))
    }

    @Test func removingAnUnknownRequestChangesNothing() {
        var book = RequestBook()
        book.set(SubscriberID(1), to: Resolution(.high, every: 100, moving: 0))
        #expect(book.remove(SubscriberID(2)) == nil)
        #expect(book.finest == Resolution(.high, every: 100, moving: 0))
        book.remove(SubscriberID(1))
        #expect(book.finest == nil)
    }

    @Test(arguments: UInt64(1)...8) func itAgreesWithReducingAllRequests(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        var book = RequestBook()
        var model: [SubscriberID: Resolution] = [:]
        for _ in 0..<2_000 {
            let subscriber = SubscriberID(.random(in: 0..<40, using: &generator))
            if Bool.random(using: &generator) {
                let wanted = Resolution.random(using: &generator)
                book.set(subscriber, to: wanted)
                model[subscriber] = wanted
            } else {
                #expect(book.remove(subscriber) == model.removeValue(forKey: subscriber))
            }
            let first = model.values.first
            #expect(book.finest == first.map { model.values.reduce($0) { $0.finer(of: $1) } })
            #expect(book.requests == model)
        }
    }

    @Test func removedRequestsDoNotAccumulate() {
        var values = MinMultiset<Int>()
        values.insert(0)
        for value in 1...10_000 {
            values.insert(value)
            values.remove(value)
            #expect(values.min == 0)
        }
        #expect(values.heapCount < 100)
    }
}
