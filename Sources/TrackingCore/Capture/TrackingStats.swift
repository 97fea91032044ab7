/// What was asked of the receiver when a point was captured: the six statistics that Overland adds to its points, under the
/// names and with the values that its receivers know, in `extra`.
public struct TrackingStats: Hashable, Sendable {
    /// Whether recording pauses where the trackable stands (`pauses`).
    public var pauses: Bool
    /// What the device is used for (`activity`).
    public var activity: Activity
    /// The accuracy asked for (`desired_accuracy`).
    public var desiredAccuracy: DesiredAccuracy
    /// After how many metres points are sent; `nil` at once (`deferred`, 0 for at once).
    public var deferral: Meters?
    /// What of long ways is recorded (`significant_change`).
    public var significantChange: CaptureFilter.SignificantChange

    /// Collects them.
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

    /// The point with the statistics; one that stands for a zone stays bare.
    ///
    /// - Parameter delivered: How many fixes the receiver told at once, this one included (`locations_in_payload`).
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
    /// The point with the name of the wireless network (`wifi` in `extra`); one that stands for a zone stays bare.
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
    /// Metres; -1 is what phones call "best".
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
