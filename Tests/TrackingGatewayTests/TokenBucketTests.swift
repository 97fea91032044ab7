import Testing
import TrackingCore

@testable import TrackingGateway

@Suite struct TokenBucketTests {
    private let limit = RateLimit(burst: 3, perSecond: 2)
    private func at(_ seconds: Double) -> MonotonicTime { MonotonicTime(.seconds(seconds)) }

    @Test func takesAFewAtOnceAndThenAsManyAsCome() {
        var bucket = TokenBucket(self.limit, now: self.at(0))
        for _ in 0..<3 { #expect(bucket.take(now: self.at(0)) == nil) }
        #expect(bucket.take(now: self.at(0)) == .seconds(0.5))
        #expect(bucket.take(now: self.at(0.25)) == .seconds(0.25))
        #expect(bucket.take(now: self.at(0.5)) == nil)
        #expect(bucket.take(now: self.at(0.5)) == .seconds(0.5))
        // After a wait of any length, only a few requests pass at once.
        for _ in 0..<3 { #expect(bucket.take(now: self.at(100)) == nil) }
        #expect(bucket.take(now: self.at(100)) != nil)
    }

    @Test func aKeyDoesNotDisturbAnother() {
        var limiter = RateLimiter<String>(self.limit)
        for _ in 0..<4 { _ = limiter.take("a", now: self.at(0)) }
        #expect(limiter.take("a", now: self.at(0)) != nil)
        #expect(limiter.take("b", now: self.at(0)) == nil)
    }

    @Test func aKeyMayHaveALimitOfItsOwn() {
        var limiter = RateLimiter<String>(self.limit)
        let own = RateLimit(perSecond: 0.1)
        #expect(limiter.take("a", own, now: self.at(0)) == nil)
        #expect(limiter.take("a", own, now: self.at(0)) == .seconds(10))
        for _ in 0..<3 { #expect(limiter.take("b", now: self.at(0)) == nil) }
        #expect(limiter.take("a", own, now: self.at(10)) == nil)
    }

    @Test func theMemoryOfTheLimiterIsBounded() {
        var limiter = RateLimiter<Int>(self.limit, capacity: 100)
        for key in 0..<100 { #expect(limiter.take(key, now: self.at(0)) == nil) }
        #expect(limiter.take(100, now: self.at(0)) != nil)
        #expect(limiter.take(5, now: self.at(0)) == nil)
        // A bucket that is full again is removed.
        #expect(limiter.take(100, now: self.at(60)) == nil)
        #expect(limiter.count == 1)
    }
}
