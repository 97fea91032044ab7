/// The capture settings that were in force when a point was captured. They are written to the point's `extra` (a JSON
/// object) with the names and values of the Overland app.
public struct TrackingStats: Hashable, Sendable {
    /// `true` when recording pauses while the trackable is stationary (`pauses`).
    public var pauses: Bool
    /// The use of the device, such as driving or fitness (`activity`).
    public var activity: Activity
    /// The accuracy that is requested from the receiver (`desired_accuracy`).
    public var desiredAccuracy: DesiredAccuracy
    /// The distance in metres that the trackable must move before points are sent; `nil` when points are sent at once
    /// (`deferred`, written as 0).
    public var deferral: Meters?
    /// The rule for recording a fix at a large distance from the last recorded one (`significant_change`).
    public var significantChange: CaptureFilter.SignificantChange

    /// Makes the statistics that are added to a recorded point, from the capture settings in force.
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

    /// Returns the point with the five capture settings and the number of fixes that were delivered together added to
    /// its `extra`, a JSON object. If a privacy zone replaced the position by its centre, the point is returned
    /// unchanged.
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
    /// Returns the point with the name of the wireless network added to its `extra`, a JSON object, as `wifi`. The
    /// point is returned unchanged when the name is `nil`, or when a privacy zone replaced the position by its centre.
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
    /// The desired accuracy as a number: in metres, or -1 for the best, as phones encode it.
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
