package import TrackingCore

/// A limit of requests: the number at once (burst), and the number per second in the long run.
package struct RateLimit: Hashable, Sendable {
    /// The largest number of requests that one caller may send at once, ≥ 1.
    package var burst: Double
    /// The number of requests per second that one caller may send in the long run, > 0.
    package var perSecond: Double

    /// Creates a limit from the largest number of requests at once (burst) and the number of requests per second in the
    /// long run.
    package init(burst: Double, perSecond: Double) {
        self.burst = burst
        self.perSecond = perSecond
    }

    /// Creates a limit of requests per second, > 0, with a burst of ten seconds' worth of requests.
    package init(perSecond: Double) {
        self.init(burst: max(1, 10 * perSecond), perSecond: perSecond)
    }
}

/// A bucket of permits, which enforces the ``RateLimit`` of one caller. Each request takes one permit. The bucket fills
/// up again with time.
package struct TokenBucket: Hashable, Sendable {
    private let limit: RateLimit
    private var level: Double
    private var updated: MonotonicTime

    /// Creates the bucket of one caller. At first, all permits of the limit are available.
    package init(_ limit: RateLimit, now: MonotonicTime) {
        self.limit = limit
        self.level = limit.burst
        self.updated = now
    }

    /// Takes a permit for one request.
    ///
    /// - Returns: `nil` if there was a permit; otherwise the time until the next permit.
    package mutating func take(now: MonotonicTime) -> Duration? {
        self.fill(now: now)
        guard self.level >= 1 else { return .seconds((1 - self.level) / self.limit.perSecond) }
        self.level -= 1
        return nil
    }

    /// Returns `true` if the bucket has all its permits. The caller may then discard the bucket, because a new bucket
    /// would be equal to it.
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

/// Limits the requests of many callers, each identified by a key, in bounded memory.
package struct RateLimiter<Key: Hashable & Sendable>: Sendable {
    private let limit: RateLimit
    private let capacity: Int
    private var buckets: [Key: TokenBucket] = [:]

    /// Creates a limiter that remembers at most `capacity` keys. When a further key needs room, the limiter forgets the
    /// keys whose permits are all available again. If there are none, it rejects the request.
    ///
    /// - Parameters:
    ///   - limit: The limit for each key.
    ///   - capacity: The largest number of remembered keys.
    package init(_ limit: RateLimit, capacity: Int = 10_000) {
        self.limit = limit
        self.capacity = capacity
    }

    /// The number of keys that the rate limiter remembers. It remembers a key from the first request with this key. It
    /// forgets the key when a further key needs room and the permits of this one are all available again.
    package var count: Int { self.buckets.count }

    /// Takes a permit for one request with a key.
    ///
    /// - Parameter limit: The key's own limit, the same in each call with this key; `nil` for the limit of all keys.
    /// - Returns: `nil` if there was a permit; otherwise the time after which the caller may try again.
    package mutating func take(_ key: Key, _ limit: RateLimit? = nil, now: MonotonicTime) -> Duration? {
        if self.buckets[key] == nil, self.buckets.count >= self.capacity {
            self.buckets = self.buckets.filter { !$0.value.isFull(now: now) }
            guard self.buckets.count < self.capacity else { return .seconds(1) }
        }
        return self.buckets[key, default: TokenBucket(limit ?? self.limit, now: now)].take(now: now)
    }
}
