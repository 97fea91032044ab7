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

    /// Returns the point with the five capture settings added to its `extra`, a JSON object. The sixth value,
    /// `locations_in_payload`, is the number of points in the message that sends the point. It is 1 until the point is
    /// sent in a message with other points. If a privacy zone replaced the position by its centre, the point is
    /// returned unchanged.
    public func added(to fix: Location) -> Location {
        guard fix.source != .zone else { return fix }
        var location = fix
        location.addExtra([
            .flag("pauses", self.pauses), .text("activity", self.activity.overlandName),
            .number("desired_accuracy", self.desiredAccuracy.overlandValue),
            .number("deferred", self.deferral?.value ?? 0),
            .text("significant_change", self.significantChange.overlandName),
            .number("locations_in_payload", 1),
        ])
        return location
    }

    /// Returns the place of the number of points of the message in the JSON text of a point's `extra`, if that number
    /// is to be replaced by `count`. Returns `nil` if the text has no such number, if the number is not 1, or if the
    /// text would exceed its maximum size.
    fileprivate static func placeOfCount(in extra: ArraySlice<UInt8>, for count: Int) -> Range<Int>? {
        guard let number = (try? JSONSource(object: extra))?.members["locations_in_payload"],
            number.elementsEqual("1".utf8),
            extra.count - number.count + String(count).utf8.count <= Location.maximumExtraBytes
        else { return nil }
        return number.indices
    }
}

extension HistoryBatch {
    /// A copy of the batch in which the statistics of each point have the number of points in the batch
    /// (`locations_in_payload`). A point without statistics is unchanged, and so is a point whose source wrote a number
    /// other than 1. A batch that is sent again has the same points, and therefore the same number.
    package var countingPoints: HistoryBatch {
        let count = self.records.indices.count(where: { self.records.kind(at: $0) == .point })
        guard count > 1 else { return self }
        var batch = self
        batch.records = SpoolRecords(self.records.lazy.map { $0.stating(pointsOfMessage: count) })
        return batch
    }
}

extension LocationUpdate {
    /// A copy of the update in which the statistics of each point have the number of points in the update
    /// (`locations_in_payload`), the skipped points included. A point without statistics is unchanged, and so is a
    /// point whose source wrote a number other than 1.
    package var countingPoints: LocationUpdate {
        guard !self.skipped.isEmpty else { return self }
        let count = self.skipped.count + 1
        var update = self
        update.location = self.location.stating(pointsOfMessage: count)
        update.skipped = self.skipped.map { $0.stating(pointsOfMessage: count) }
        return update
    }
}

extension SpoolRecord {
    fileprivate func stating(pointsOfMessage count: Int) -> SpoolRecord {
        guard self.kind == .point,
            let extra = (try? JSONSource(object: self.payload[...]))?["properties"]?.members["extra"],
            let place = TrackingStats.placeOfCount(in: extra, for: count)
        else { return self }
        var record = self
        record.payload.replaceSubrange(place, with: String(count).utf8)
        return record
    }
}

extension Location {
    fileprivate func stating(pointsOfMessage count: Int) -> Location {
        guard let extra = self.extra, let place = TrackingStats.placeOfCount(in: extra[...], for: count) else {
            return self
        }
        var location = self
        location.extra?.replaceSubrange(place, with: String(count).utf8)
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
