package import TrackingCore

/// The points of Overland's batches: what its versions for iOS and Android write, and what they mean by it.
package enum OverlandPoint {
    /// The point of a Feature with these properties.
    ///
    /// - Parameters:
    ///   - isSwapped: A Boolean value that indicates whether latitude comes before longitude.
    ///   - source: The properties as they were written.
    /// - Throws: What is missing or wrong, without a coordinate.
    package static func location(
        _ properties: [String: JSONValue], _ geometry: JSONValue?, isSwapped: Bool = false, source: JSONSource?
    ) throws(BadPoint) -> Location {
        guard var place = Self.coordinates(geometry) else { throw BadPoint("its geometry is not a Point") }
        if isSwapped { place.swapAt(0, 1) }
        var draft = PointDraft()
        draft.set(.longitude, to: place[0])
        draft.set(.latitude, to: place[1])
        let isAltitudeKnown = !Self.saysNoAltitude(properties)
        if place.count > 2, isAltitudeKnown { draft.set(.altitude, to: place[2]) }
        // In the order of their names: of two that mean the same the later one counts, each time.
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

    /// A Boolean value that indicates whether a property has a place of its own in a point.
    private static func isKnown(_ name: String) -> Bool {
        self.names[name] != nil
            || ["altitude", "vertical_accuracy", "altitude_accuracy", "motion", "trip_id"].contains(name)
    }

    /// Longitude, latitude and whatever follows; very old versions for iOS wrote an object.
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

    /// iOS says so of a fix that has no place.
    package static func saysNoPlace(_ properties: [String: JSONValue]) -> Bool {
        (properties["horizontal_accuracy"]?.lenientNumber ?? 0) < 0
    }

    /// iOS says so by a negative accuracy; a fix made for a wifi zone by -1 and an accuracy of 0.
    private static func saysNoAltitude(_ properties: [String: JSONValue]) -> Bool {
        let accuracy = (properties["vertical_accuracy"] ?? properties["altitude_accuracy"])?.lenientNumber
        guard let accuracy else { return false }
        return accuracy < 0 || (accuracy == 0 && properties["altitude"]?.lenientNumber == -1)
    }

    /// Very old versions said whether it was charging.
    package static func batteryState(_ value: JSONValue) -> JSONValue {
        value.flag.map { .text($0 ? "charging" : "unplugged") } ?? value
    }
}

/// The words for how somebody moves, of iOS and of Android.
package struct PhoneMotion {
    /// Those that the protocol knows.
    package let known: JSONValue
    /// Whether there are others.
    package let hasUnknown: Bool

    /// Reads a list of words, or one.
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
    /// The finite number, also where it is written as a decimal number in text.
    package var lenientNumber: Double? {
        guard let number = self.number ?? self.text.flatMap({ Double(decimal: $0) }), number.isFinite else {
            return nil
        }
        return number
    }
}
