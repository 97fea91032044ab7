import TrackingCore

/// The verdict on a receiver's date, which may be off by whole multiples of 1,024 weeks.
///
/// GPS counts weeks in ten bits, and the firmware supplies the rest. A receiver that outlives its firmware's
/// assumption reports dates that are off by 19.6 years or a multiple.
enum WeekRollover: Hashable, Sendable {
    /// The receiver's date is used unchanged: it agrees with the device's clock, or its difference is no multiple of
    /// 1,024 weeks.
    case asIs
    /// The date differed by this many times 1,024 weeks (negative: in the past) from a trusted clock, and can be
    /// corrected.
    case corrected(rollovers: Int)
    /// The date differed by this many times 1,024 weeks from a clock that is not trusted. The date or the clock may be
    /// wrong.
    case suspect(rollovers: Int)

    /// 1,024 weeks in seconds.
    static let period = 1024.0 * 7 * 86_400
    /// The largest deviation of a date's error from a whole multiple of 1,024 weeks, in seconds.
    static let tolerance = 86_400.0

    /// Checks if the time of a new fix differs from the device's clock by a multiple of 1,024 weeks (GPS week
    /// rollover), to within one day. Returns `corrected` if so and the clock is trusted, `suspect` if so and it is not,
    /// and `asIs` for any other time.
    static func examine(_ fix: UnixTime, clock: UnixTime, isTrusted: Bool) -> WeekRollover {
        let difference = fix.seconds - clock.seconds
        let rollovers = (difference / Self.period).rounded()
        guard rollovers != 0, abs(rollovers) < 100, abs(difference - rollovers * Self.period) <= Self.tolerance else {
            return .asIs
        }
        return isTrusted ? .corrected(rollovers: Int(rollovers)) : .suspect(rollovers: Int(rollovers))
    }

    /// Returns the time of a fix, corrected by the weeks that the receiver's date is off; unchanged if there is no
    /// correction.
    func applied(to time: UnixTime) -> UnixTime {
        switch self {
        case .corrected(let rollovers): UnixTime(time.seconds - Double(rollovers) * Self.period)
        case .asIs, .suspect: time
        }
    }

    /// The JSON text for `extra` of a fix with a doubtful date: the number of weeks by which the date may be off. `nil`
    /// for any other fix.
    var mark: [UInt8]? {
        switch self {
        case .suspect(let rollovers): Array("{\"suspectWeeks\":\(rollovers * 1024)}".utf8)
        case .asIs, .corrected: nil
        }
    }
}
