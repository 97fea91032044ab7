/// The rule that decides which points are live positions, the same on devices, in the gateway, in the history and on the map.
///
/// A point that breaks the rule is recorded and flagged. It is never a trackable's last known position.
public enum LivePosition {
    /// The reason why a point is not a live position.
    public enum Fault: Hashable, Sendable {
        /// The point is exactly at latitude 0, longitude 0, which receivers report that have no fix.
        case nowhere
        /// The point was made by a clock that was not set.
        case unsetClock
        /// The time of the point is ahead of the reader's clock, by this much.
        case ahead(Duration)
    }

    /// The greatest time by which a device's clock may be ahead of the reader's.
    public static let maximumAhead: Duration = .seconds(60)

    /// Returns the reason why a point is not a live position; `nil` for a point that may be one.
    ///
    /// - Parameters:
    ///   - point: The point.
    ///   - now: The reader's clock; `nil` where it is not trusted, so that no time is judged by it.
    public static func fault(of point: Location, at now: UnixTime?) -> Fault? {
        if point.coordinate.isNowhere { return .nowhere }
        if point.hasUnsetClock { return .unsetClock }
        guard let now else { return nil }
        // A clock that is not set itself judges no other.
        if point.time < RecordedTime.earliest, now >= RecordedTime.earliest { return .unsetClock }
        let lead = point.time.since(now)
        return lead > Self.maximumAhead ? .ahead(lead) : nil
    }
}

extension Coordinate {
    /// `true` for latitude 0, longitude 0, which stands for no position at all.
    public var isNowhere: Bool { self.latitude == 0 && self.longitude == 0 }
}

extension Location {
    /// `true` where the device marked the time as that of a clock that was not set (``ClockTrust``).
    var hasUnsetClock: Bool { self.extraText("clock") == ClockTrust.Basis.unset.rawValue }
}
