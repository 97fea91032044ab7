/// The rule that decides which points are live positions. Devices, the gateway, the history and the map apply the same
/// rule.
///
/// A point that breaks the rule is recorded and flagged. It is never a trackable's last known position.
public enum LivePosition {
    /// The reason why a point is not a live position.
    public enum Fault: Hashable, Sendable {
        /// The point is exactly at latitude 0, longitude 0. Receivers without a fix report that position.
        case nowhere
        /// The device's clock was not set when the point was captured.
        case unsetClock
        /// The time of the point is ahead of the reader's clock by the given duration, which exceeds
        /// ``LivePosition/maximumAhead``.
        case ahead(Duration)
    }

    /// The greatest time by which the time of a point may be ahead of the reader's clock: 60 s.
    public static let maximumAhead: Duration = .seconds(60)

    /// Returns the reason why a point is not a live position, or `nil` for a live position.
    ///
    /// - Parameters:
    ///   - point: The point.
    ///   - now: The time on the reader's clock; `nil` when that clock is not trusted. Without it, the point's time is
    ///     not checked.
    public static func fault(of point: Location, at now: UnixTime?) -> Fault? {
        if point.coordinate.isNowhere { return .nowhere }
        if point.hasUnsetClock { return .unsetClock }
        guard let now else { return nil }
        // A reader's clock that was not set either cannot judge the point's clock.
        if point.time < RecordedTime.earliest, now >= RecordedTime.earliest { return .unsetClock }
        let lead = point.time.since(now)
        return lead > Self.maximumAhead ? .ahead(lead) : nil
    }
}

extension Coordinate {
    /// `true` for latitude 0, longitude 0, the position that receivers without a fix report.
    public var isNowhere: Bool { self.latitude == 0 && self.longitude == 0 }
}

extension Location {
    /// `true` when the device marked the point's time as the time of a clock that was not set (``ClockTrust``).
    var hasUnsetClock: Bool { self.extraText("clock") == ClockTrust.Basis.unset.rawValue }
}
