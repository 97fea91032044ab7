package import TrackingCore

/// A point under construction from named values: CSV columns, GeoJSON properties or OwnTracks members. Values with
/// unknown names become members of the point's `extra`, a JSON object of limited size. When they exceed that size, the
/// largest are left out. A member of a value `extra` takes precedence over a value of the same name.
package struct PointDraft {
    /// The kinds of meaning that a named value can have, such as the altitude of the point.
    package enum Meaning: Sendable {
        case time, latitude, longitude, altitude, accuracyHorizontal, accuracyVertical, bearing, accuracyBearing
        case speed, accuracySpeed, kilometresPerHour, floor, battery, batteryPercent, mode, motion, tripID, source
        case extra
        /// The value is ignored: the point takes nothing from values such as `trackable`, `seq` or `late`.
        case nothing
    }

    /// The known names of values and their meanings. A name is in lower case, without `_`, `-` and spaces.
    /// `docs/reference/history.md` lists all names.
    static let names: [String: Meaning] = {
        let table: [(Meaning, [String])] = [
            (.time, ["time", "timestamp", "datetime", "recordedat", "utc", "tst"]),
            (.latitude, ["latitude", "lat", "y"]), (.longitude, ["longitude", "lon", "lng", "long", "x"]),
            (.altitude, ["altitude", "alt", "ele", "elevation", "height"]),
            (.accuracyHorizontal, ["accuracyhorizontal", "horizontalaccuracy", "accuracy", "acc", "hacc"]),
            (.accuracyVertical, ["accuracyvertical", "verticalaccuracy", "vac", "vacc"]),
            (.bearing, ["bearing", "course", "heading", "cog", "direction"]),
            (.accuracyBearing, ["accuracybearing", "courseaccuracy", "bearingaccuracy"]),
            (.speed, ["speed", "velocity"]), (.accuracySpeed, ["accuracyspeed", "speedaccuracy"]),
            (.kilometresPerHour, ["speedkmh", "speedkph"]), (.floor, ["floor"]),
            (.battery, ["battery", "batterylevel"]), (.mode, ["mode"]), (.motion, ["motion"]), (.tripID, ["tripid"]),
            (.source, ["source"]), (.extra, ["extra"]),
            (.nothing, ["trackable", "seq", "stream", "skipped", "late", "receivedat"]),
        ]
        return Dictionary(uniqueKeysWithValues: table.flatMap { meaning, names in names.map { ($0, meaning) } })
    }()

    /// Returns the meaning of a value by its name, such as the name of a CSV column; `nil` when the name is unknown.
    /// Capital letters, spaces, `_` and `-` do not matter.
    static func meaning(of name: String) -> Meaning? {
        self.names[name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }]
    }

    private var time: UnixTime?
    private var latitude: Double?
    private var longitude: Double?
    private var isPlaceGiven = false
    private var rest = Location(coordinate: PointDraft.anywhere, time: UnixTime(0))
    /// The JSON texts of the values whose names have no known meaning, by name. They become members of the point's
    /// `extra`.
    private var unknown: [String: ArraySlice<UInt8>] = [:]

    // Latitude and longitude are in range.
    private static let anywhere = Coordinate(latitude: 0, longitude: 0)!

    /// Makes a point under construction that has no values yet.
    package init() {}

    /// Sets a value of the point by its name in the file.
    ///
    /// - Parameters:
    ///   - name: The name of the value. A value with an unknown name becomes a member of the point's `extra`.
    ///   - value: The value.
    ///   - source: The JSON text of the value, which is copied to `extra` unchanged; `nil` for a value that was not
    ///     read from JSON.
    package mutating func set(_ name: String, to value: JSONValue, source: ArraySlice<UInt8>? = nil) {
        guard let meaning = Self.meaning(of: name) else {
            return self.addExtra(name, source: source ?? value.json[...])
        }
        self.set(meaning, to: value, source: source)
    }

    /// Adds a value, given as JSON text, to the members of the point's `extra`.
    package mutating func addExtra(_ name: String, source: ArraySlice<UInt8>) { self.unknown[name] = source }

    /// Sets a value of the point by its meaning.
    ///
    /// A value of the wrong type counts as unknown. So does a negative value where only magnitudes make sense, because
    /// many programs write -1 for "unknown". Of several times, the first readable one counts. Only ``location()``
    /// checks that time and position are present.
    ///
    /// - Parameters:
    ///   - meaning: The meaning of the value.
    ///   - value: The value.
    ///   - source: The JSON text of the value, for the meaning `extra`; `nil` for a value that was not read from JSON.
    package mutating func set(_ meaning: Meaning, to value: JSONValue, source: ArraySlice<UInt8>? = nil) {
        let number = value.lenientNumber
        let magnitude = number.flatMap { $0 >= 0 ? $0 : nil }
        switch meaning {
        case .time: self.time = self.time ?? Self.time(value)
        case .latitude: (self.latitude, self.isPlaceGiven) = (number, true)
        case .longitude: (self.longitude, self.isPlaceGiven) = (number, true)
        case .altitude: self.rest.altitude = number
        case .accuracyHorizontal: self.rest.accuracyHorizontal = magnitude
        case .accuracyVertical: self.rest.accuracyVertical = magnitude
        case .bearing: self.rest.bearing = magnitude.map(\.normalizedBearing)
        case .accuracyBearing: self.rest.accuracyBearing = magnitude
        case .speed: self.rest.speed = magnitude
        case .kilometresPerHour: self.rest.speed = magnitude.map { $0 / 3.6 }
        case .accuracySpeed: self.rest.accuracySpeed = magnitude
        case .battery: self.rest.batteryLevel = Self.percentage(value) ?? magnitude.flatMap { $0 <= 1 ? $0 : nil }
        case .batteryPercent: self.rest.batteryLevel = magnitude.flatMap { $0 <= 100 ? $0 / 100 : nil }
        case .floor: self.rest.floor = number.flatMap { Int(exactly: $0) }.flatMap(Self.exact)
        case .mode: self.rest.mode = value.text.flatMap { TrackingMode(rawValue: $0) }
        case .motion: self.rest.motion = Self.words(value).compactMap { Motion(rawValue: $0) }
        case .tripID: self.rest.tripID = value.text.flatMap { $0.isEmpty ? nil : $0 }
        case .source: self.rest.source = value.text.flatMap { SourceKind(rawValue: $0) }
        case .extra: self.rest.extra = Self.object(value, source)
        case .nothing: break
        }
    }

    /// The times that every format of an export can contain, in seconds of Unix time.
    private static let times = -62_135_596_800...1e11

    /// Returns the point with all values that were set.
    ///
    /// - Throws: ``BadPoint`` that names the missing or wrong value. It never contains a coordinate.
    package func location() throws(BadPoint) -> Location {
        guard let latitude = self.latitude, let longitude = self.longitude else {
            throw BadPoint(
                self.isPlaceGiven
                    ? "the latitude or longitude is not a number of degrees such as 47.5" : "the point has no position")
        }
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw BadPoint("the latitude must be -90 to 90 and the longitude -180 to 180")
        }
        guard let time = self.time else { throw BadPoint("the point has no readable time") }
        guard Self.times.contains(time.seconds) else {
            throw BadPoint("the time of the point is out of range: it must be in the years 1 to 5138")
        }
        guard self.rest.tripID?.isTripID ?? true else {
            throw BadPoint(
                "the trip id has more than \(WireLimits.maximumTripIDBytes) bytes, a control character or one that turns the direction of text"
            )
        }
        var location = self.rest
        location.coordinate = coordinate
        location.time = time
        location.extra = Location.extra(location.extra, adding: self.unknown)
        // A point that cannot be encoded cannot be stored either. The check includes the texts and the nesting of
        // `extra`, which come from external input.
        guard (try? LocationCodec.decodeFeature(LocationCodec.encodeFeature(location))) == location else {
            throw BadPoint("the point contains a value that the protocol cannot represent")
        }
        return location
    }

    /// Returns the members that fit into the detail of a tracking event. Members with too many levels of nesting are
    /// omitted. Then the largest members are omitted until the rest has at most the permitted size of a point's
    /// `extra`.
    package static func fitting(_ members: [String: JSONValue]) -> [String: JSONValue] {
        var fitting = members.filter { $0.value.depth < WireLimits.maximumExtraDepth }
        guard JSONValue.object(fitting).json.count > Location.maximumExtraBytes else { return fitting }
        let sizes = fitting.map { (name: $0.key, size: JSONValue.object([$0.key: $0.value]).json.count - 1) }
        var room = Location.maximumExtraBytes - 1
        for member in sizes.sorted(by: { ($0.size, $0.name) < ($1.size, $1.name) }) {
            room -= member.size
            if room < 0 { fitting[member.name] = nil }
        }
        return fitting
    }

    /// Returns the time that a value denotes, as RFC 3339 text or as a number of Unix time; `nil` for other values. A
    /// number counts as milliseconds from 1e11 on, and as seconds below.
    package static func time(_ value: JSONValue) -> UnixTime? {
        if let number = value.lenientNumber {
            guard number.magnitude <= 1e14 else { return nil }
            return UnixTime(number.magnitude >= 1e11 ? number / 1000 : number)
        }
        return value.text.flatMap { ISO8601.parse($0.utf8) }
    }

    private static func exact(_ floor: Int) -> Int? { floor.magnitude <= WireLimits.maximumInteger ? floor : nil }

    private static func words(_ value: JSONValue) -> [String] {
        value.list?.compactMap(\.text) ?? value.text?.split(separator: " ").map { String($0) } ?? []
    }

    private static func object(_ value: JSONValue, _ source: ArraySlice<UInt8>?) -> [UInt8]? {
        if let text = value.text {
            let bytes = Array(text.utf8)
            return (try? JSONValue(json: bytes))?.object == nil ? nil : bytes
        }
        return value.object == nil ? nil : source.map { Array($0) } ?? value.json
    }

    /// Returns a battery charge in percent as a fraction: a number above 1 and up to 100, divided by a hundred. `nil`
    /// for other numbers, which may be fractions already.
    private static func percentage(_ value: JSONValue) -> Double? {
        value.lenientNumber.flatMap { $0 > 1 && $0 <= 100 ? $0 / 100 : nil }
    }

    /// Returns the number of properties, among the given ones, that are a battery charge in percent. An import converts
    /// such a charge to a fraction from 0 to 1.
    package static func corrections(in properties: [String: JSONValue]) -> Int {
        properties.count(where: { Self.meaning(of: $0.key) == .battery && Self.percentage($0.value) != nil })
    }
}

/// The error that a value of a file is not a valid point. The reader adds the number of the line when it reports the
/// error.
package struct BadPoint: Error {
    /// The reason as text. It names the missing or wrong value, and never contains a coordinate.
    package let reason: String

    init(_ reason: String) { self.reason = reason }
}

extension PointDraft {
    /// Returns the point of a GeoJSON Feature that has only members of Godwit's own protocol; `nil` for any other
    /// Feature. Its record number (`seq`) and stream are removed.
    ///
    /// This is the fast way to read Godwit's own files. Use ``point(feature:source:)`` for other Features; it preserves
    /// unknown properties.
    package static func ownPoint(_ json: ArraySlice<UInt8>) -> Location? {
        guard var location = try? LocationCodec.decodeWholeFeature(json) else { return nil }
        location.seq = nil
        location.stream = nil
        return location
    }

    /// Returns the point of a GeoJSON Feature of any program. Check the text with `LocationCodec.hasNullCoordinate(_:)`
    /// before.
    ///
    /// - Parameters:
    ///   - feature: The Feature.
    ///   - source: The unparsed JSON text of the properties; `nil` when they were not read from JSON.
    /// - Throws: ``BadPoint`` that names the missing or wrong value. It never contains a coordinate.
    package static func point(feature: JSONValue, source: JSONSource?) throws(BadPoint) -> Location {
        guard feature["type"]?.text == "Feature" else { throw BadPoint("the value is not a GeoJSON Feature") }
        guard feature["geometry"]?["type"]?.text == "Point",
            let coordinates = feature["geometry"]?["coordinates"]?.list, coordinates.count >= 2
        else { throw BadPoint("the geometry is not a Point") }
        var draft = PointDraft()
        let properties = feature["properties"]?.object ?? [:]
        for (name, text) in (source ?? JSONSource(properties)).members.sorted(by: { $0.key < $1.key }) {
            if let value = properties[name] {
                draft.set(name, to: value, source: text)
            } else if Self.meaning(of: name) == nil {
                draft.addExtra(name, source: text)  // null
            }
        }
        draft.set(.longitude, to: coordinates[0])
        draft.set(.latitude, to: coordinates[1])
        if coordinates.count > 2 { draft.set(.altitude, to: coordinates[2]) }
        return try draft.location()
    }
}
