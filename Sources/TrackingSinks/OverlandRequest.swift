import TrackingCore

/// Encodes points and trips in the form of the app Overland.
///
/// The JSON of a point depends on the point alone. A point that is sent again is therefore recognised by a server that
/// compares requests.
enum OverlandRequest {
    /// Returns a point as a GeoJSON Feature of Overland. Further members that the point was recorded with are written
    /// too, unless Overland has a property of the same name.
    static func feature(_ point: Location, of trackable: TrackableID) -> [UInt8] {
        var properties: [String: JSONValue] = [
            "device_id": .text(trackable.rawValue), "timestamp": .text(ISO8601.text(point.time)),
            "motion": .list(point.motion.map { .text($0.rawValue) }),
        ]
        for (name, value) in Self.measurements(of: point) { properties[name] = value.map { .number($0) } }
        properties["trip_id"] = point.tripID.map { .text($0) }
        let place = JSONValue.object([
            "type": .text("Point"),
            "coordinates": .list([.number(point.coordinate.longitude), .number(point.coordinate.latitude)]),
        ])
        let members = JSONValue.object(properties).json.dropLast() + Self.extra(of: point, beside: properties)
        return Array("{\"type\":\"Feature\",\"geometry\":".utf8) + place.json + Array(",\"properties\":".utf8) + members
            + Array("}}".utf8)
    }

    private static func measurements(of point: Location) -> [(String, Double?)] {
        [
            ("altitude", point.altitude), ("horizontal_accuracy", point.accuracyHorizontal),
            ("vertical_accuracy", point.accuracyVertical), ("speed", point.speed),
            ("speed_accuracy", point.accuracySpeed), ("course", point.bearing),
            ("course_accuracy", point.accuracyBearing), ("battery_level", point.batteryLevel),
        ]
    }

    /// Returns the further members of a point as JSON text that begins with a comma; empty for none. Numbers keep their
    /// digits, unless a member has to be left out.
    private static func extra(of point: Location, beside properties: [String: JSONValue]) -> [UInt8] {
        guard let extra = point.extra, let members = (try? JSONValue(json: extra))?.object, !members.isEmpty else {
            return []
        }
        let reserved = Set(properties.keys).union(Self.reserved)
        let kept = members.filter { !reserved.contains($0.key) }
        guard !kept.isEmpty else { return [] }
        let object = kept.count == members.count ? extra : JSONValue.object(kept).json
        let start = object.firstIndex(of: UInt8(ascii: "{")).map { $0 + 1 } ?? 0
        let end = object.lastIndex(of: UInt8(ascii: "}")) ?? object.endIndex
        return [UInt8(ascii: ",")] + object[start..<end]
    }

    /// The names of properties that mean something to an Overland server and that a point without them must not get.
    private static let reserved: Set = [
        "action", "type", "altitude", "altitude_accuracy", "horizontal_accuracy", "vertical_accuracy", "speed",
        "speed_accuracy", "course", "course_accuracy", "battery_level", "trip_id",
    ]

    /// Returns the members `current` and `trip` of a request as JSON text, each after a comma; empty for none.
    static func rest(of batch: ForwardBatch) -> [UInt8] {
        var rest: [UInt8] = []
        if let current = batch.current {
            rest += Array(",\"current\":".utf8) + Self.feature(current, of: batch.trackable)
        }
        if let trip = batch.trip { rest += Array(",\"trip\":".utf8) + Self.trip(trip, of: batch.trackable) }
        return rest
    }

    private static func trip(_ trip: Trip, of trackable: TrackableID) -> [UInt8] {
        let members = JSONValue.object([
            "mode": .text(trip.mode), "start": .text(ISO8601.text(trip.start)), "distance": .number(trip.distance),
        ])
        var json = Array(members.json.dropLast())
        for (name, place) in [("start_location", trip.startLocation), ("current_location", trip.lastLocation)] {
            json += Array(",\"\(name)\":".utf8) + (place.map { Self.feature($0, of: trackable) } ?? Array("null".utf8))
        }
        return json + Array("}".utf8)
    }
}
