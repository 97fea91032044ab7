package import TrackingCore

/// A point that is put together from named values, as CSV columns, GeoJSON properties and OwnTracks members give them. What is
/// not known by name goes into `extra`, in so far as it finds room.
package struct PointDraft {
    /// What a name stands for.
    package enum Meaning: Sendable {
        case time, latitude, longitude, altitude, accuracyHorizontal, accuracyVertical, bearing, accuracyBearing
        case speed, accuracySpeed, kilometresPerHour, floor, battery, batteryPercent, mode, motion, tripID, source
        case extra
        /// It says what the program or the file knows anyway, or what names a record elsewhere.
        case nothing
    }

    /// The names that are known, in lower case and without `_`, `-` and blanks. `docs/history.md` lists them.
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

    /// What a name stands for; `nil` where it is not known.
    static func meaning(of name: String) -> Meaning? {
        self.names[name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }]
    }

    private var time: UnixTime?
    private var latitude: Double?
    private var longitude: Double?
    private var isPlaceGiven = false
    private var rest = Location(coordinate: PointDraft.anywhere, time: UnixTime(0))
    /// The members that `extra` gets, as source text.
    private var unknown: [String: ArraySlice<UInt8>] = [:]

    // Both are in range.
    private static let anywhere = Coordinate(latitude: 0, longitude: 0)!

    /// Makes one of which nothing is known.
    package init() {}

    /// Sets a value by its name.
    ///
    /// - Parameter source: The value as it was written, for `extra`; `nil` for a value that was not read from JSON.
    package mutating func set(_ name: String, to value: JSONValue, source: ArraySlice<UInt8>? = nil) {
        guard let meaning = Self.meaning(of: name) else {
            return self.addExtra(name, source: source ?? value.json[...])
        }
        self.set(meaning, to: value, source: source)
    }

    /// Adds a member to `extra`: a value as it was written.
    package mutating func addExtra(_ name: String, source: ArraySlice<UInt8>) { self.unknown[name] = source }

    /// Sets a value by its meaning.
    ///
    /// A value of the wrong kind is unknown, and so is a negative magnitude: many programs write -1 for an unknown value. Only
    /// ``location()`` checks the values that a point needs.
    ///
    /// - Parameter source: The value as it was written, for `extra`; `nil` for a value that was not read from JSON.
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

    /// The point.
    ///
    /// - Throws: What is missing or wrong, without a coordinate.
    package func location() throws(BadPoint) -> Location {
        guard let latitude = self.latitude, let longitude = self.longitude else {
            throw BadPoint(
                self.isPlaceGiven
                    ? "its latitude or longitude is not a number of degrees, as in 47.5" : "it has no place")
        }
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw BadPoint("its latitude or longitude is out of range")
        }
        guard let time = self.time else { throw BadPoint("it has no time that can be read") }
        guard time.seconds.magnitude <= 1e11 else { throw BadPoint("its time is out of range") }
        guard self.rest.tripID?.isTripID ?? true else {
            throw BadPoint(
                "the id of its trip has more than \(WireLimits.maximumTripIDBytes) bytes, a control character or one that turns the direction of text"
            )
        }
        var location = self.rest
        location.coordinate = coordinate
        location.time = time
        if location.extra == nil, !self.unknown.isEmpty {
            location.extra = Location.extra(of: self.unknown)
        }
        // What cannot be sent cannot be stored either; text and depth of `extra` are a stranger's.
        guard (try? LocationCodec.decodeFeature(LocationCodec.encodeFeature(location))) == location else {
            throw BadPoint("it holds what the protocol has no place for")
        }
        return location
    }

    /// The members of an event's detail: members that nest too deep are left out, and then the largest ones until the rest has the
    /// size of an `extra`.
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

    /// RFC 3339 or Unix time: seconds, or milliseconds where it is 1e11 or more (as seconds that were the year 5138).
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

    /// A charge of the battery in percent, as a fraction: a number above 1 and up to 100.
    private static func percentage(_ value: JSONValue) -> Double? {
        value.lenientNumber.flatMap { $0 > 1 && $0 <= 100 ? $0 / 100 : nil }
    }

    /// The number of properties whose values a point has in corrected form: the charge of the battery in percent.
    package static func corrections(in properties: [String: JSONValue]) -> Int {
        properties.count(where: { Self.meaning(of: $0.key) == .battery && Self.percentage($0.value) != nil })
    }
}

/// Why something is no point; where it stands is said by who reads it.
package struct BadPoint: Error {
    /// What is missing or wrong, without a coordinate.
    package let reason: String

    init(_ reason: String) { self.reason = reason }
}

extension PointDraft {
    /// The point of a Feature that is as the protocol has it, without the name that it has somewhere else; `nil` for any other
    /// Feature. It is read without a tree of values, and what the protocol does not know would be lost: that is for
    /// ``point(feature:)``.
    package static func ownPoint(_ json: ArraySlice<UInt8>) -> Location? {
        guard var location = try? LocationCodec.decodeWholeFeature(json) else { return nil }
        location.seq = nil
        location.stream = nil
        return location
    }

    /// The point of a GeoJSON Feature of any program; see ``LocationCodec/hasNullCoordinate(_:)``.
    ///
    /// - Parameter source: The properties as they were written.
    /// - Throws: What is missing or wrong, without a coordinate.
    package static func point(feature: JSONValue, source: JSONSource?) throws(BadPoint) -> Location {
        guard feature["type"]?.text == "Feature" else { throw BadPoint("not a GeoJSON Feature") }
        guard feature["geometry"]?["type"]?.text == "Point",
            let coordinates = feature["geometry"]?["coordinates"]?.list, coordinates.count >= 2
        else { throw BadPoint("its geometry is not a Point") }
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
