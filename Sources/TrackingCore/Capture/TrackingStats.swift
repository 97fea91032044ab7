/// The capture settings in force when a point was captured: the six statistics that Overland adds to its points. They
/// are written to `extra` with Overland's names and values.
public struct TrackingStats: Hashable, Sendable {
    /// `true` when recording pauses while the trackable is stationary (`pauses`).
    public var pauses: Bool
    /// The use of the device (`activity`).
    public var activity: Activity
    /// The requested accuracy (`desired_accuracy`).
    public var desiredAccuracy: DesiredAccuracy
    /// The distance in metres that the trackable must move before points are sent; `nil` when points are sent at once
    /// (`deferred`, written as 0).
    public var deferral: Meters?
    /// The way in which a large distance decides whether a fix is recorded (`significant_change`).
    public var significantChange: CaptureFilter.SignificantChange

    /// Makes the statistics from the capture settings in force.
    public init(
        pauses: Bool, activity: Activity, desiredAccuracy: DesiredAccuracy, deferral: Meters?,
        significantChange: CaptureFilter.SignificantChange
    ) {
        self.pauses = pauses
        self.activity = activity
        self.desiredAccuracy = desiredAccuracy
        self.deferral = deferral
        self.significantChange = significantChange
    }

    /// Returns the point with the six statistics in its `extra`. A position that a privacy zone replaced by its centre
    /// is returned unchanged.
    ///
    /// - Parameters:
    ///   - fix: The point.
    ///   - delivered: The number of fixes that the receiver delivered together, including this one
    ///     (`locations_in_payload`).
    public func added(to fix: Location, delivered: Int = 1) -> Location {
        guard fix.source != .zone else { return fix }
        var location = fix
        location.addExtra([
            .flag("pauses", self.pauses), .text("activity", self.activity.overlandName),
            .number("desired_accuracy", self.desiredAccuracy.overlandValue),
            .number("deferred", self.deferral?.value ?? 0),
            .text("significant_change", self.significantChange.overlandName),
            .number("locations_in_payload", Double(delivered)),
        ])
        return location
    }
}

extension Location {
    /// Returns the point with the name of the wireless network in its `extra` (`wifi`). The point is returned unchanged
    /// when the name is `nil`, or when a privacy zone replaced the position by its centre.
    public func addingWireless(_ name: String?) -> Location {
        guard self.source != .zone, let name else { return self }
        var location = self
        location.addExtra([.text("wifi", name)])
        return location
    }
}

extension Activity {
    fileprivate var overlandName: String {
        switch self {
        case .automotive: "automotive_navigation"
        case .fitness: "fitness"
        case .otherNavigation: "other_navigation"
        case .airborne: "airborne"
        case .other: "other"
        }
    }
}

extension DesiredAccuracy {
    /// The accuracy in metres; -1 for "best", as phones encode it.
    fileprivate var overlandValue: Double {
        switch self {
        case .best: -1
        case .tenMetres: 10
        case .hundredMetres: 100
        case .kilometre: 1000
        case .threeKilometres: 3000
        }
    }
}

extension CaptureFilter.SignificantChange {
    fileprivate var overlandName: String {
        switch self {
        case .off: "disabled"
        case .also: "enabled"
        case .only: "exclusive"
        }
    }
}
