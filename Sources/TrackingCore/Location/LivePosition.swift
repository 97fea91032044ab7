/// The rule that decides which points are live positions, that is, may be shown as a trackable's current position.
/// Devices, the gateway, the history and the map apply the same rule.
///
/// A point is no live position if its coordinate is [0, 0] or its time is implausible. Such a point is recorded and
/// flagged, but never becomes a trackable's last known position.
public enum LivePosition {
    /// The reason why a point may not be shown as a trackable's current position.
    public enum Fault: Hashable, Sendable {
        /// The point is exactly at latitude 0, longitude 0. Receivers without a fix report that position.
        case nowhere
        /// The point's time is wrong, because the device's clock was not set when the point was captured. The device
        /// marked the point so, or the point's time is before 2001 while the clock of the checking program is not.
        case unsetClock
        /// The point's time is in the future: it is ahead of the clock of the program that checks it by the given
        /// duration, which exceeds ``LivePosition/maximumAhead``.
        case ahead(Duration)
    }

    /// The greatest time by which a point's time may be ahead of the clock of the program that checks the point: 60 s.
    public static let maximumAhead: Duration = .seconds(60)

    /// Returns the reason why a point may not be shown as a trackable's current position; `nil` for a live position,
    /// which may be shown.
    ///
    /// - Parameters:
    ///   - point: The point.
    ///   - now: The time on the clock of the checking program; `nil` when that clock is not trusted. With `nil`, the
    ///     point's time is not compared with any clock: a time in the future or before 2001 is not detected.
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
    /// `true` for the coordinate at latitude 0, longitude 0, which receivers without a fix report.
    public var isNowhere: Bool { self.latitude == 0 && self.longitude == 0 }
}

extension Location {
    /// `true` when the device marked the point's time as wrong, because its clock was not set (``ClockTrust``).
    var hasUnsetClock: Bool { self.extraText("clock") == ClockTrust.Basis.unset.rawValue }
}
