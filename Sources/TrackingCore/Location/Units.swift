/// A distance in metres.
public struct Meters: Hashable, Comparable, Sendable, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// The number of metres of this distance.
    public var value: Double

    /// Makes a distance of `value` metres.
    public init(_ value: Double) { self.value = value }
    /// Makes a distance of `value` metres.
    public init(floatLiteral value: Double) { self.value = value }
    /// Makes a distance of `value` metres.
    public init(integerLiteral value: Int) { self.value = Double(value) }

    /// Orders distances by their length.
    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// A moment as Unix time: seconds since 1970-01-01T00:00:00Z, with a fraction. A point's time is the time of its fix,
/// never of its transmission.
public struct UnixTime: Hashable, Comparable, Sendable {
    /// The number of seconds from 1970-01-01T00:00:00Z to this moment, with a fraction. It is negative for an earlier
    /// moment.
    public var seconds: Double

    /// Makes the moment that is `seconds` after 1970-01-01T00:00:00Z.
    public init(_ seconds: Double) { self.seconds = seconds }

    /// Orders moments by time, earlier ones first.
    public static func < (left: Self, right: Self) -> Bool { left.seconds < right.seconds }

    /// Returns the time from `earlier` to this moment; negative when `earlier` is later. The result is limited to about
    /// ±30 million years, and is zero when one of the moments is not a number.
    public func since(_ earlier: UnixTime) -> Duration { Duration(clampingSeconds: self.seconds - earlier.seconds) }

    /// Returns the moment that is `duration` after this one.
    public func advanced(by duration: Duration) -> UnixTime { UnixTime(self.seconds + duration.inSeconds) }
}

/// A moment on the monotonic clock, which never goes back and also runs while the device sleeps (Linux:
/// `CLOCK_BOOTTIME`).
///
/// State machines never read the clock. They receive such moments as arguments, and return the times at which they must
/// be called.
public struct MonotonicTime: Hashable, Comparable, Sendable, InstantProtocol {
    /// The time between the monotonic clock's start, such as the boot of the device, and this moment.
    public var sinceOrigin: Duration

    /// Makes the moment that is `sinceOrigin` after the monotonic clock's start.
    @inlinable
    public init(_ sinceOrigin: Duration) { self.sinceOrigin = sinceOrigin }

    /// Orders moments by time, earlier ones first.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.sinceOrigin < right.sinceOrigin }
    /// Returns the moment that is `duration` after this one.
    @inlinable
    public func advanced(by duration: Duration) -> Self { Self(self.sinceOrigin + duration) }
    /// Returns the time from this moment to `other`; negative when `other` is earlier.
    @inlinable
    public func duration(to other: Self) -> Duration { other.sinceOrigin - self.sinceOrigin }
}

extension MonotonicTime {
    /// Returns the earlier of two optional moments. If one is `nil`, returns the other one; `nil` when both are `nil`.
    package static func earlier(_ one: Self?, _ other: Self?) -> Self? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}

extension Duration {
    /// The greatest duration that is made from a number of another program or device, about 30 million years. Additions
    /// to durations within this limit do not overflow.
    package static let longest: Duration = .seconds(1_000_000_000_000_000)

    /// Makes a duration of the given seconds, limited to ±``longest``; zero when `seconds` is not a number.
    package init(clampingSeconds seconds: Double) {
        let most = Self.longest.inSeconds
        self = seconds.isNaN ? .zero : .seconds(max(-most, min(most, seconds)))
    }

    /// The duration in seconds, with fraction.
    public var inSeconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }

    /// The duration in whole milliseconds, truncated toward zero.
    public var inMilliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
