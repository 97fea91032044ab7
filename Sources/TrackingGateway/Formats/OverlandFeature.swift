import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Decodes one GeoJSON Feature of an Overland request: a point, a visit, an action of the app, or the record of a trip.
enum OverlandFeature {
    /// Returns the records of an Overland Feature.
    ///
    /// - Parameters:
    ///   - feature: The Feature.
    ///   - text: The source text of the Feature.
    /// - Throws: `BadPiece` if the Feature has no valid record.
    static func records(_ feature: JSONValue, _ text: ArraySlice<UInt8>) throws(BadPiece) -> [RecordDraft] {
        guard feature.object != nil else { throw BadPiece("the Feature is not a JSON object") }
        guard let properties = feature["properties"]?.object else { throw BadPiece("the Feature has no properties") }
        let source = (try? JSONSource(object: text))?["properties"]
        if properties["type"]?.text == "trip" { return try OverlandTrip.ended(properties, source) }
        guard let time = properties["timestamp"].flatMap(PointDraft.time), time.seconds.magnitude <= 1e11 else {
            throw BadPiece("the Feature has no valid timestamp")
        }
        let geometry = feature["geometry"]
        if let action = properties["action"]?.text {
            return [Self.event(action, properties, at: time, geometry)]
        }
        guard geometry?.object != nil, !OverlandPoint.saysNoPlace(properties) else {
            return [RecordDraft(Happening(.noPosition, Self.detail(properties)), at: time)]
        }
        do throws(BadPoint) {
            return [RecordDraft(point: try OverlandPoint.location(properties, geometry, source: source))]
        } catch {
            throw BadPiece(error.reason)
        }
    }

    /// Returns the position in a Feature that describes the start, end or current place of a trip; `nil` if it has no
    /// valid position.
    ///
    /// - Parameters:
    ///   - feature: The Feature; `nil` for none.
    ///   - source: The source text of the Feature.
    ///   - isSwapped: `true` if latitude precedes longitude.
    static func place(_ feature: JSONValue?, _ source: JSONSource?, isSwapped: Bool = false) -> Location? {
        guard let properties = feature?["properties"]?.object, !OverlandPoint.saysNoPlace(properties) else {
            return nil
        }
        return try? OverlandPoint.location(
            properties, feature?["geometry"], isSwapped: isSwapped, source: source?["properties"])
    }

    // MARK: Events

    private static func event(
        _ action: String, _ properties: [String: JSONValue], at time: UnixTime, _ geometry: JSONValue?
    ) -> RecordDraft {
        var detail = Self.detail(properties)
        for (name, ours) in [("arrival_date", "arrival"), ("departure_date", "departure")] {
            guard let date = detail.removeValue(forKey: name).flatMap(PointDraft.time) else { continue }
            detail[ours] = .number(date.seconds)
        }
        var place: Location?
        if let coordinates = OverlandPoint.coordinates(geometry), !OverlandPoint.saysNoPlace(properties),
            let longitude = coordinates[0].lenientNumber, let latitude = coordinates[1].lenientNumber,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        {
            place = Location(coordinate: coordinate, time: time)
            place?.accuracyHorizontal = detail.removeValue(forKey: "horizontal_accuracy")?.lenientNumber
        }
        return RecordDraft(Happening(Self.kind(of: action), detail), at: time, location: place)
    }

    private static func kind(of action: String) -> TrackingEvent.Kind {
        switch action {
        case "visit": .visit
        case "paused_location_updates": .paused
        case "resumed_location_updates", "exited_pause_region": .resumed
        case "application_launched_with_location": .started
        case "will_terminate": .stopping
        default: .action
        }
    }

    /// Returns the properties of an Overland Feature as the detail of a tracking event: without the time, and only as
    /// many as fit into an event.
    static func detail(_ properties: [String: JSONValue]) -> [String: JSONValue] {
        var detail = properties
        detail["timestamp"] = nil
        detail["battery_state"] = detail["battery_state"].map(OverlandPoint.batteryState)
        return PointDraft.fitting(detail)
    }
}

extension TrackingEvent.Kind {
    /// The kind of an event that records a phone's Feature or message without a valid position.
    static let noPosition = Self(rawValue: "NO_POSITION")
    /// The kind of an event that records an action of the phone's app. The event's detail names the action in `action`.
    static let action = Self(rawValue: "ACTION")
}
