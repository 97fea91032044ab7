/// The growing waits between repeated attempts. Each wait is `factor` times the previous one, up to a longest wait.
///
/// The value counts the failures in a row. Call ``next()`` or ``next(atMost:using:)`` after each failure and
/// ``reset()`` after a success:
///
/// ```swift
/// var backoff = Backoff(first: .seconds(1), maximum: .seconds(30))
/// backoff.next()  // 1 s
/// backoff.next()  // 2 s
/// ```
public struct Backoff: Hashable, Sendable {
    /// The wait between the first failed attempt and the next attempt.
    public var first: Duration
    /// The longest wait between two attempts. A call of ``next(atMost:using:)`` or ``wait(after:atMost:)`` can replace
    /// this limit by its own.
    public var maximum: Duration
    /// The number, at least 1, by which the wait is multiplied after each further failure, until it reaches the longest
    /// wait.
    public var factor: Int
    /// The share of each wait that is random, from 0 (none) to 1. With 0.5, a wait is shortened at random by at most
    /// half.
    public var jitter: Double
    /// The number of failures that were counted since the last success (``reset()``), or since the backoff was made.
    public private(set) var failures = 0

    /// Makes a backoff that has counted no failures.
    ///
    /// - Parameters:
    ///   - first: The wait after the first failure.
    ///   - maximum: The longest wait.
    ///   - factor: The ratio of each wait to the previous one, at least 1.
    ///   - jitter: The share of each wait that is random, 0…1.
    public init(first: Duration, maximum: Duration, factor: Int = 2, jitter: Double = 0) {
        self.first = first
        self.maximum = maximum
        self.factor = factor
        self.jitter = jitter
    }

    /// Returns the wait after a number of failures in a row, without a random part; zero for no failures.
    ///
    /// - Parameters:
    ///   - failures: The number of failures in a row.
    ///   - limit: The longest wait, used in place of ``maximum``; `nil` for ``maximum``.
    public func wait(after failures: Int, atMost limit: Duration? = nil) -> Duration {
        guard failures > 0 else { return .zero }
        let longest = limit ?? self.maximum
        var wait = min(self.first, longest)
        for _ in 1..<failures {
            if wait >= longest || wait <= .zero || self.factor <= 1 { break }
            wait = min(wait * self.factor, longest)
        }
        return wait
    }

    /// Counts a failure. Returns the wait until the next attempt, without a random part.
    public mutating func next() -> Duration {
        self.failures += 1
        return self.wait(after: self.failures)
    }

    /// Counts a failure. Returns the wait until the next attempt, shortened at random by up to the share ``jitter``.
    ///
    /// - Parameters:
    ///   - limit: The longest wait, used in place of ``maximum``; `nil` for ``maximum``.
    ///   - generator: The source of the random part.
    public mutating func next(
        atMost limit: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        self.failures += 1
        return self.wait(after: self.failures, atMost: limit)
            * Double.random(in: (1 - self.jitter)...1, using: &generator)
    }

    /// Sets the number of failed attempts in a row to zero, because an attempt succeeded. The wait after the next
    /// failure is then ``first`` again.
    public mutating func reset() { self.failures = 0 }
}
