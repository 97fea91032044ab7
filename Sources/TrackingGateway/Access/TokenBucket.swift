package import TrackingCore

/// How often something may be done: so many times at once, and then so many times a second.
package struct RateLimit: Hashable, Sendable {
    /// How many times at once, ≥ 1.
    package var burst: Double
    /// How many times a second in the long run, > 0.
    package var perSecond: Double

    /// Makes a limit.
    package init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }
}

/// A bucket of permits that fills up by itself.
package struct TokenBucket: Hashable, Sendable {
    private var level: Double
    private var updated: MonotonicTime

    /// Makes a full one.
    package init(_ limit: RateLimit, now: MonotonicTime) {
        self.level = limit.burst
        self.updated = now
    }

    /// Takes a permit.
    ///
    /// - Returns: `nil` where there was one, or else how long it takes until there is one.
    package mutating func take(_ limit: RateLimit, now: MonotonicTime) -> Duration? {
        self.fill(limit, now: now)
        guard self.level >= 1 else { return .seconds((1 - self.level) / limit.perSecond) }
        self.level -= 1
        return nil
    }

    /// Whether it is full: then it need not be kept.
    func isFull(_ limit: RateLimit, now: MonotonicTime) -> Bool {
        var copy = self
        copy.fill(limit, now: now)
        return copy.level >= limit.burst
    }

    private mutating func fill(_ limit: RateLimit, now: MonotonicTime) {
        guard now > self.updated else { return }
        let passed = self.updated.duration(to: now).inSeconds
        self.level = min(limit.burst, self.level + passed * limit.perSecond)
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

    /// How many keys are remembered.
    package var count: Int { self.buckets.count }

    /// Takes a permit of a key.
    ///
    /// - Returns: `nil` where there was one, or else how long it takes until there is one.
    package mutating func take(_ key: Key, now: MonotonicTime) -> Duration? {
        if self.buckets[key] == nil, self.buckets.count >= self.capacity {
            self.buckets = self.buckets.filter { !$0.value.isFull(self.limit, now: now) }
            guard self.buckets.count < self.capacity else { return .seconds(1) }
        }
        return self.buckets[key, default: TokenBucket(self.limit, now: now)].take(self.limit, now: now)
    }
}
