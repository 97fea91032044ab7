package import TrackingCore

/// Decodes the points in batches of the phone app Overland, as its versions for iOS and Android write them.
package enum OverlandPoint {
    /// Makes a point from the members of a GeoJSON Feature in a batch of the app Overland.
    ///
    /// - Parameters:
    ///   - properties: The properties of the Feature.
    ///   - geometry: The geometry of the Feature.
    ///   - isSwapped: `true` when the latitude precedes the longitude in the coordinates.
    ///   - source: The unparsed JSON text of the properties; `nil` when they were not read from JSON.
    /// - Throws: ``BadPoint`` that names the missing or wrong member. It never contains a coordinate.
    package static func location(
        _ properties: [String: JSONValue], _ geometry: JSONValue?, isSwapped: Bool = false, source: JSONSource?
    ) throws(BadPoint) -> Location {
        guard var place = Self.coordinates(geometry) else { throw BadPoint("the geometry is not a Point") }
        if isSwapped { place.swapAt(0, 1) }
        var draft = PointDraft()
        draft.set(.longitude, to: place[0])
        draft.set(.latitude, to: place[1])
        let isAltitudeKnown = !Self.saysNoAltitude(properties)
        if place.count > 2, isAltitudeKnown { draft.set(.altitude, to: place[2]) }
        // The properties are processed in order of their names, so that of two with the same meaning, the later name
        // always counts.
        for (name, text) in (source ?? JSONSource(properties)).members.sorted(by: { $0.key < $1.key }) {
            guard let value = properties[name] else {
                if !Self.isKnown(name) { draft.addExtra(name, source: text) }  // null
                continue
            }
            switch name {
            case "altitude", "vertical_accuracy", "altitude_accuracy":
                if isAltitudeKnown, value.text != "" {
                    draft.set(name == "altitude" ? .altitude : .accuracyVertical, to: value)
                }
            case "battery_state":
                draft.addExtra(name, source: value.flag == nil ? text : Self.batteryState(value).json[...])
            case "motion":
                let motion = PhoneMotion(value)
                draft.set(.motion, to: motion.known)
                if motion.hasUnknown { draft.addExtra(name, source: text) }
            case "trip_id":
                if let text = value.text, text.utf8.count <= 64 {
                    draft.set(.tripID, to: value)
                } else {
                    draft.addExtra(name, source: text)
                }
            default:
                if let meaning = Self.names[name] {
                    draft.set(meaning, to: value)
                } else {
                    draft.addExtra(name, source: text)
                }
            }
        }
        return try draft.location()
    }

    private static let names: [String: PointDraft.Meaning] = [
        "timestamp": .time, "horizontal_accuracy": .accuracyHorizontal, "speed": .speed, "course": .bearing,
        "speed_accuracy": .accuracySpeed, "course_accuracy": .accuracyBearing, "battery_level": .battery,
    ]

    /// Returns `true` for the name of an Overland property that becomes a value of the point itself, such as the speed.
    /// Other properties are added to the point's `extra`.
    private static func isKnown(_ name: String) -> Bool {
        self.names[name] != nil
            || ["altitude", "vertical_accuracy", "altitude_accuracy", "motion", "trip_id"].contains(name)
    }

    /// Returns the coordinates of a Feature's geometry: longitude, latitude and possible further numbers. `nil` when
    /// there are none. Very old versions of the app for iOS wrote an object with the members `longitude` and
    /// `latitude`.
    package static func coordinates(_ geometry: JSONValue?) -> [JSONValue]? {
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

    /// Returns `true` for a fix without a position, which iOS marks by a negative horizontal accuracy.
    package static func saysNoPlace(_ properties: [String: JSONValue]) -> Bool {
        (properties["horizontal_accuracy"]?.lenientNumber ?? 0) < 0
    }

    /// Returns `true` for a fix without an altitude. iOS marks it by a negative vertical accuracy; a fix for a wifi
    /// zone has the altitude -1 with accuracy 0.
    private static func saysNoAltitude(_ properties: [String: JSONValue]) -> Bool {
        let accuracy = (properties["vertical_accuracy"] ?? properties["altitude_accuracy"])?.lenientNumber
        guard let accuracy else { return false }
        return accuracy < 0 || (accuracy == 0 && properties["altitude"]?.lenientNumber == -1)
    }

    /// Returns the state of the battery as text. Very old versions of the app wrote a Boolean: `true` becomes
    /// `charging`, and `false` becomes `unplugged`.
    package static func batteryState(_ value: JSONValue) -> JSONValue {
        value.flag.map { .text($0 ? "charging" : "unplugged") } ?? value
    }
}

/// The kinds of motion that a phone reported, such as walking. The words of Android are translated to those of the
/// protocol.
package struct PhoneMotion {
    /// The reported kinds of motion that the protocol defines, as a JSON array of its words.
    package let known: JSONValue
    /// `true` when the phone also reported kinds of motion that the protocol does not define.
    package let hasUnknown: Bool

    /// Reads the phone's kinds of motion from a JSON list of words or a single word.
    package init(_ value: JSONValue) {
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
    /// The finite number that this JSON value is, or that its text denotes as a decimal number; `nil` for other values.
    package var lenientNumber: Double? {
        guard let number = self.number ?? self.text.flatMap({ Double(decimal: $0) }), number.isFinite else {
            return nil
        }
        return number
    }
}
