package import TrackingCore

/// Decodes NextBillion.ai's `LocationData` (`docs/how-to/migrate-from-nextbillion.md`).
package enum NextBillionPoint {
    /// Makes a point from an object in the form of `LocationData`. A member with another name becomes a member of the
    /// point's `extra`.
    ///
    /// - Parameters:
    ///   - value: The object.
    ///   - source: The unparsed JSON text of the object; `nil` when it was not read from JSON.
    /// - Throws: ``BadPoint`` that names the missing or wrong member. It never contains a coordinate.
    package static func location(_ value: JSONValue, source: JSONSource?) throws(BadPoint) -> Location {
        guard let members = value.object else { throw BadPoint("the LocationData is not a JSON object") }
        guard let place = members["location"]?.object else { throw BadPoint("the LocationData has no location") }
        // iOS marks a fix without a position by a negative accuracy.
        guard (members["accuracy"]?.lenientNumber ?? 0) >= 0 else {
            throw BadPoint("the LocationData has no valid position, because its accuracy is below 0")
        }
        var draft = PointDraft()
        for (name, meaning) in Self.placeNames {
            if let degrees = place[name] { draft.set(meaning, to: degrees) }
        }
        for (name, text) in (source ?? JSONSource(members)).members.sorted(by: { $0.key < $1.key })
        where name != "location" {
            guard let value = members[name] else {
                if Self.names[name] == nil, name != "tracking_mode" { draft.addExtra(name, source: text) }  // null
                continue
            }
            if name == "tracking_mode", let mode = Self.mode(value) {
                draft.set(.mode, to: mode)
            } else if let meaning = Self.names[name] {
                draft.set(meaning, to: value)
            } else {
                draft.addExtra(name, source: text)
            }
        }
        return try draft.location()
    }

    /// The members of `location`. The page for Android has the short names, and the Swift class on the page for iOS has
    /// the long ones.
    private static let placeNames: [(String, PointDraft.Meaning)] = [
        ("latitude", .latitude), ("longitude", .longitude), ("lat", .latitude), ("lon", .longitude),
    ]

    /// The other members. `timestamp` is the name of the time in NextBillion.ai's REST interface.
    private static let names: [String: PointDraft.Meaning] = [
        "timeStamp": .time, "timestamp": .time, "accuracy": .accuracyHorizontal, "speed": .speed, "bearing": .bearing,
        "altitude": .altitude, "battery_level": .batteryPercent,
    ]

    /// Returns the tracking mode in the words of the protocol; `nil` for a value that is none of them.
    private static func mode(_ value: JSONValue) -> JSONValue? {
        (value.text?.uppercased()).flatMap { TrackingMode(rawValue: $0) }.map { .text($0.rawValue) }
    }
}
