/// A distance in metres.
public struct Meters: Hashable, Comparable, Sendable, ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// The distance, in metres.
    public var value: Double

    /// Makes a distance of `value` metres.
    public init(_ value: Double) { self.value = value }
    /// Makes a distance of `value` metres.
    public init(floatLiteral value: Double) { self.value = value }
    /// Makes a distance of `value` metres.
    public init(integerLiteral value: Int) { self.value = Double(value) }

    /// Orders by length.
    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// A moment as Unix time: seconds since 1970-01-01T00:00:00Z, with fraction. The time of a fix, never of its sending.
public struct UnixTime: Hashable, Comparable, Sendable {
    /// Seconds since the epoch.
    public var seconds: Double

    /// Makes the moment `seconds` after the epoch.
    public init(_ seconds: Double) { self.seconds = seconds }

    /// Orders by time.
    public static func < (left: Self, right: Self) -> Bool { left.seconds < right.seconds }

    /// The time that passed from `earlier` to this moment; negative when `earlier` is later. Never more than
    /// about 30 million years, and zero where one of them is no number.
    public func since(_ earlier: UnixTime) -> Duration { Duration(clampingSeconds: self.seconds - earlier.seconds) }

    /// The moment `duration` after this one.
    public func advanced(by duration: Duration) -> UnixTime { UnixTime(self.seconds + duration.inSeconds) }
}

/// A moment on the monotonic clock that goes on while the device sleeps (Linux: `CLOCK_BOOTTIME`).
///
/// Deciders get it as an argument and give deadlines back; only drivers read the clock.
public struct MonotonicTime: Hashable, Comparable, Sendable, InstantProtocol {
    /// The time since the clock's origin.
    public var sinceOrigin: Duration

    /// Makes the moment `sinceOrigin` after the clock's origin.
    @inlinable
    public init(_ sinceOrigin: Duration) { self.sinceOrigin = sinceOrigin }

    /// Orders by time.
    @inlinable
    public static func < (left: Self, right: Self) -> Bool { left.sinceOrigin < right.sinceOrigin }
    /// The moment `duration` after this one.
    @inlinable
    public func advanced(by duration: Duration) -> Self { Self(self.sinceOrigin + duration) }
    /// The time from this moment to `other`.
    @inlinable
    public func duration(to other: Self) -> Duration { other.sinceOrigin - self.sinceOrigin }
}

extension MonotonicTime {
    /// The earlier of two moments that may not be there.
    package static func earlier(_ one: Self?, _ other: Self?) -> Self? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}

extension Duration {
    /// The longest that numbers from outside are taken for, about 30 million years: whoever adds to it does not overflow.
    package static let longest: Duration = .seconds(1_000_000_000_000_000)

    /// So many seconds, at most ``longest`` either way; zero where it is no number.
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
