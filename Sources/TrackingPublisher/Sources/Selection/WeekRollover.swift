import TrackingCore

/// Tells whether a receiver's date is off by whole multiples of 1,024 weeks: GPS counts weeks in ten bits, and receivers that
/// outlive their firmware's guess of the rest tell dates 19.6 years, or a multiple of that, in the past (or the future).
enum WeekRollover: Hashable, Sendable {
    /// The date is about that of the clock, or off by something else.
    case asIs
    /// The date was off by so many times 1,024 weeks (negative: in the past) from a trusted clock, and can be corrected.
    case corrected(rollovers: Int)
    /// The same, from a clock that nobody vouches for: which of the two is wrong cannot be said.
    case suspect(rollovers: Int)

    /// 1,024 weeks in seconds.
    static let period = 1024.0 * 7 * 86_400
    /// How far from a whole multiple the difference may be, in seconds.
    static let tolerance = 86_400.0

    /// Compares the time of a fresh fix with the device's clock.
    static func examine(_ fix: UnixTime, clock: UnixTime, isTrusted: Bool) -> WeekRollover {
        let difference = fix.seconds - clock.seconds
        let rollovers = (difference / Self.period).rounded()
        guard rollovers != 0, abs(rollovers) < 100, abs(difference - rollovers * Self.period) <= Self.tolerance else {
            return .asIs
        }
        return isTrusted ? .corrected(rollovers: Int(rollovers)) : .suspect(rollovers: Int(rollovers))
    }

    /// The time to use in place of `time`.
    func applied(to time: UnixTime) -> UnixTime {
        switch self {
        case .corrected(let rollovers): UnixTime(time.seconds - Double(rollovers) * Self.period)
        case .asIs, .suspect: time
        }
    }

    /// What a fix whose date is in doubt carries as its `extra`: how many weeks it may be off.
    var mark: [UInt8]? {
        switch self {
        case .suspect(let rollovers): Array("{\"suspectWeeks\":\(rollovers * 1024)}".utf8)
        case .asIs, .corrected: nil
        }
    }
}
