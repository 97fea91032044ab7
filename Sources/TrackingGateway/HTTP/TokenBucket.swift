package import TrackingCore

/// A rate limit: a burst, and a number of permits per second.
package struct RateLimit: Hashable, Sendable {
    /// The most permits at once, ≥ 1.
    package var burst: Double
    /// The permits per second in the long run, > 0.
    package var perSecond: Double

    /// Makes a limit.
    package init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }

    /// So many times a second in the long run, > 0; ten seconds' worth of them at once.
    package init(perSecond: Double) {
        self.init(burst: max(1, 10 * perSecond), perSecond: perSecond)
    }
}

/// A bucket of permits that fills up by itself.
package struct TokenBucket: Hashable, Sendable {
    private let limit: RateLimit
    private var level: Double
    private var updated: MonotonicTime

    /// Makes a full one.
    package init(_ limit: RateLimit, now: MonotonicTime) {
        self.limit = limit
        self.level = limit.burst
        self.updated = now
    }

    /// Takes a permit.
    ///
    /// - Returns: `nil` where there was one, or else how long it takes until there is one.
    package mutating func take(now: MonotonicTime) -> Duration? {
        self.fill(now: now)
        guard self.level >= 1 else { return .seconds((1 - self.level) / self.limit.perSecond) }
        self.level -= 1
        return nil
    }

    /// Returns `true` if the bucket is full and can be forgotten.
    func isFull(now: MonotonicTime) -> Bool {
        var copy = self
        copy.fill(now: now)
        return copy.level >= self.limit.burst
    }

    private mutating func fill(now: MonotonicTime) {
        guard now > self.updated else { return }
        let passed = self.updated.duration(to: now).inSeconds
        self.level = min(self.limit.burst, self.level + passed * self.limit.perSecond)
        self.updated = now
    }
}

/// A bucket for each of many keys, in bounded memory.
package struct RateLimiter<Key: Hashable & Sendable>: Sendable {
    private let limit: RateLimit
    private let capacity: Int
    private var buckets: [Key: TokenBucket] = [:]

    /// Makes a limiter that remembers at most `capacity` keys. Where there are more that have used up something, those that
    /// come are turned away until one is full again.
    package init(_ limit: RateLimit, capacity: Int = 10_000) {
        self.limit = limit
        self.capacity = capacity
    }

    /// The number of remembered keys.
    package var count: Int { self.buckets.count }

    /// Takes a permit of a key.
    ///
    /// - Parameter limit: This key's own limit, always the same; `nil`: as for all.
    /// - Returns: `nil` where there was one, or else how long it takes until there is one.
    package mutating func take(_ key: Key, _ limit: RateLimit? = nil, now: MonotonicTime) -> Duration? {
        if self.buckets[key] == nil, self.buckets.count >= self.capacity {
            self.buckets = self.buckets.filter { !$0.value.isFull(now: now) }
            guard self.buckets.count < self.capacity else { return .seconds(1) }
        }
        return self.buckets[key, default: TokenBucket(limit ?? self.limit, now: now)].take(now: now)
    }
}
