import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Reads one Feature of an Overland batch: a point, a visit, an action, or the record of a trip.
enum OverlandFeature {
    /// The records that a Feature is.
    static func records(_ feature: JSONValue) throws(BadPiece) -> [RecordDraft] {
        guard feature.object != nil else { throw BadPiece("it is not a JSON object") }
        guard let properties = feature["properties"]?.object else { throw BadPiece("it has no properties") }
        if properties["type"]?.text == "trip" { return try OverlandTrip.ended(properties) }
        guard let time = properties["timestamp"].flatMap(PointDraft.time), time.seconds.magnitude <= 1e11 else {
            throw BadPiece("it has no timestamp that can be read")
        }
        let geometry = feature["geometry"]
        if let action = properties["action"]?.text {
            return [Self.event(action, properties, at: time, geometry)]
        }
        guard geometry?.object != nil, !Self.saysNoPlace(properties) else {
            return [RecordDraft(Happening(.noPosition, Self.detail(properties)), at: time)]
        }
        return [RecordDraft(point: try Self.point(properties, geometry))]
    }

    /// A Feature that stands for a place within a trip.
    static func place(_ feature: JSONValue?, isSwapped: Bool = false) -> Location? {
        guard let properties = feature?["properties"]?.object, !Self.saysNoPlace(properties) else { return nil }
        return try? Self.point(properties, feature?["geometry"], isSwapped: isSwapped)
    }

    // MARK: Points

    private static func point(
        _ properties: [String: JSONValue], _ geometry: JSONValue?, isSwapped: Bool = false
    ) throws(BadPiece) -> Location {
        guard var place = Self.coordinates(geometry) else { throw BadPiece("its geometry is not a Point") }
        if isSwapped { place.swapAt(0, 1) }
        var draft = PointDraft()
        draft.set(.longitude, to: place[0])
        draft.set(.latitude, to: place[1])
        let isAltitudeKnown = !Self.saysNoAltitude(properties)
        if place.count > 2, isAltitudeKnown { draft.set(.altitude, to: place[2]) }
        // In the order of their names: of two that mean the same the later one counts, each time.
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
            switch name {
            case "altitude", "vertical_accuracy", "altitude_accuracy":
                if isAltitudeKnown, value.text != "" {
                    draft.set(name == "altitude" ? .altitude : .accuracyVertical, to: value)
                }
            case "battery_state": draft.keep(name, Self.batteryState(value))
            case "motion":
                let motion = PhoneMotion(value)
                draft.set(.motion, to: motion.known)
                if motion.hasUnknown { draft.keep(name, value) }
            case "trip_id":
                if let text = value.text, text.utf8.count <= 64 {
                    draft.set(.tripID, to: value)
                } else {
                    draft.keep(name, value)
                }
            default:
                if let meaning = Self.names[name] { draft.set(meaning, to: value) } else { draft.keep(name, value) }
            }
        }
        do throws(BadPoint) { return try draft.location() } catch { throw BadPiece(error.reason) }
    }

    private static let names: [String: PointDraft.Meaning] = [
        "timestamp": .time, "horizontal_accuracy": .accuracyHorizontal, "speed": .speed, "course": .bearing,
        "speed_accuracy": .accuracySpeed, "course_accuracy": .accuracyBearing, "battery_level": .battery,
    ]

    /// Longitude, latitude and whatever follows; very old versions for iOS wrote an object.
    private static func coordinates(_ geometry: JSONValue?) -> [JSONValue]? {
        switch geometry?["coordinates"] {
        case .list(let list): list.count >= 2 ? list : nil
        case .object(let named):
            if let longitude = named["longitude"], let latitude = named["latitude"] {
                [longitude, latitude]
            } else {
                nil
            }
        case .text, .number, .flag, nil: nil
        }
    }

    /// iOS says so of a fix that has no place.
    private static func saysNoPlace(_ properties: [String: JSONValue]) -> Bool {
        (properties["horizontal_accuracy"]?.lenientNumber ?? 0) < 0
    }

    /// iOS says so by a negative accuracy; a fix made for a wifi zone by -1 and an accuracy of 0.
    private static func saysNoAltitude(_ properties: [String: JSONValue]) -> Bool {
        let accuracy = (properties["vertical_accuracy"] ?? properties["altitude_accuracy"])?.lenientNumber
        guard let accuracy else { return false }
        return accuracy < 0 || (accuracy == 0 && properties["altitude"]?.lenientNumber == -1)
    }

    private static func batteryState(_ value: JSONValue) -> JSONValue {
        value.flag.map { .text($0 ? "charging" : "unplugged") } ?? value
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
        if let coordinates = Self.coordinates(geometry), !Self.saysNoPlace(properties),
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

    /// What is said beside the time, as far as it finds room.
    static func detail(_ properties: [String: JSONValue]) -> [String: JSONValue] {
        var detail = properties
        detail["timestamp"] = nil
        detail["battery_state"] = detail["battery_state"].map(Self.batteryState)
        return PointDraft.fitting(detail)
    }
}

/// The words for how somebody moves, of iOS and of Android.
struct PhoneMotion {
    /// Those that the protocol knows.
    let known: JSONValue
    /// Whether there are others.
    let hasUnknown: Bool

    init(_ value: JSONValue) {
        let words = value.list?.compactMap(\.text) ?? value.text.map { [$0] } ?? []
        let ours = words.map { Self.android[$0] ?? $0 }
        let known = ours.filter { Motion(rawValue: $0) != nil }
        self.known = .list(known.map { .text($0) })
        self.hasUnknown = known.count < words.count
    }

    private static let android = [
        "still": "stationary", "on_foot": "walking", "in_vehicle": "driving", "on_bicycle": "cycling",
        "automotive": "driving",
    ]
}

extension JSONValue {
    /// The number, also where it is written as text.
    var lenientNumber: Double? {
        guard let number = self.number ?? self.text.flatMap({ Double($0) }), number.isFinite else { return nil }
        return number
    }
}

extension TrackingEvent.Kind {
    /// A phone had something to say but knew no position.
    static let noPosition = Self(rawValue: "NO_POSITION")
    /// Something that a phone's program did, named in the detail's `action`.
    static let action = Self(rawValue: "ACTION")
}
