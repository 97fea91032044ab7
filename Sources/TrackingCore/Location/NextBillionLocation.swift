/// A point in the format of NextBillion.ai's `LocationData` (`docs/how-to/migrate-from-nextbillion.md`), for programs
/// written for that format. Its members are those of NextBillion.ai's pages "Data reporting".
///
/// It is a view of a ``Location``. Each member of `LocationData` has a counterpart in ``Location``, so conversion there
/// and back loses only the values of ``Location`` that `LocationData` cannot represent.
public struct NextBillionLocation: Hashable, Sendable {
    /// The position in degrees: `location.lat` and `location.lon` in NextBillion.ai's format.
    public var coordinate: Coordinate
    /// Unix time in seconds, whole or with a fraction: `timeStamp` in NextBillion.ai's format.
    public var timeStamp: UnixTime
    /// The radius of 68 % confidence in metres: `accuracy` in NextBillion.ai's format.
    public var accuracy: Double?
    /// The speed in metres per second: `speed` in NextBillion.ai's format.
    public var speed: Double?
    /// The bearing in degrees from true north, 0 ≤ b < 360: `bearing` in NextBillion.ai's format.
    public var bearing: Double?
    /// The altitude in metres: `altitude` in NextBillion.ai's format.
    public var altitude: Double?
    /// The charge of the battery in percent, 0…100: `battery_level` in NextBillion.ai's format.
    public var batteryLevel: Double?
    /// The tracking mode, `ACTIVE`, `BALANCED`, `PASSIVE` or `CUSTOM`: `tracking_mode` in NextBillion.ai's format.
    public var trackingMode: TrackingMode?

    /// Makes the view of a ``Location`` in the format of NextBillion.ai.
    public init(_ location: Location) {
        self.coordinate = location.coordinate
        self.timeStamp = location.time
        self.accuracy = location.accuracyHorizontal
        self.speed = location.speed
        self.bearing = location.bearing
        self.altitude = location.altitude
        self.batteryLevel = location.batteryLevel.map(Self.percent)
        self.trackingMode = location.mode
    }

    /// The point converted to a ``Location``. Values that do not exist in NextBillion.ai's format are unknown.
    public var location: Location {
        var location = Location(coordinate: self.coordinate, time: self.timeStamp)
        location.accuracyHorizontal = self.accuracy
        location.speed = self.speed
        location.bearing = self.bearing
        location.altitude = self.altitude
        location.batteryLevel = self.batteryLevel.map { $0 / 100 }
        location.mode = self.trackingMode
        return location
    }

    /// Converts a fraction to percent, rounded to a billionth: 0.55 becomes 55, not 55.00000000000001.
    private static func percent(_ fraction: Double) -> Double { (fraction * 1e11).rounded() / 1e9 }
}

extension NextBillionLocation {
    /// The threshold from which on a time counts as milliseconds instead of seconds, because NextBillion.ai's REST API
    /// uses milliseconds. The threshold, 1e11 s, is in the year 5138.
    static let leastMilliseconds = 1e11

    /// The point as the bytes of a JSON object in the format of NextBillion.ai. Unknown values are omitted. The time is
    /// written in whole seconds, rounded down, because `timeStamp` is an integer in that format.
    public var encoded: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.raw("{")
        writer.name("location")
        writer.raw("{")
        writer.member("lat", self.coordinate.latitude, .latitude)
        writer.member("lon", self.coordinate.longitude, .longitude)
        writer.raw("}")
        writer.member("timeStamp", Int64(exactly: self.timeStamp.seconds.rounded(.down)))
        writer.member("accuracy", self.accuracy, .notNegative)
        writer.member("speed", self.speed, .notNegative)
        writer.member("bearing", self.bearing, .bearing)
        writer.member("altitude", self.altitude, .finite)
        writer.member("battery_level", self.batteryLevel, .percent)
        writer.member("tracking_mode", self.trackingMode?.rawValue)
        writer.raw("}")
        return writer.bytes
    }

    /// Reads a point from JSON in the format of NextBillion.ai. The member for the time may be `timeStamp` or
    /// `timestamp`, in seconds or milliseconds. The case of the tracking mode does not matter.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` that names the wrong member;
    ///   ``TrackingError/Code/payloadTooLarge`` above 128 KB.
    public init(decoding payload: some Collection<UInt8>) throws(TrackingError) {
        let message = try JSONObject(payload: payload)
        func number(_ name: StaticString, _ rule: NumberRule) throws(TrackingError) -> Double? {
            try message.optional(name) { json throws(Refusal) in try json.number(rule) }
        }
        let place = try message.object("location", .location)
        let latitude = try place.required("lat") { json throws(Refusal) in try json.number(.latitude) }
        let longitude = try place.required("lon") { json throws(Refusal) in try json.number(.longitude) }
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw TrackingError(.invalidPayload, "location must be a latitude and a longitude")
        }
        let named = try number("timeStamp", .finite)
        let seconds: Double
        if let named {
            seconds = named
        } else {
            seconds = try message.required("timestamp") { json throws(Refusal) in try json.number(.finite) }
        }
        let bearing = try number("bearing", .bearing)
        var location = Location(
            coordinate: coordinate,
            time: UnixTime(seconds.magnitude >= Self.leastMilliseconds ? seconds / 1000 : seconds))
        guard NumberRule.time.allows(location.time.seconds) else {
            throw TrackingError(.invalidPayload, "timeStamp must be Unix time in seconds or milliseconds")
        }
        location.accuracyHorizontal = try number("accuracy", .notNegative)
        location.speed = try number("speed", .notNegative)
        location.bearing = bearing == 360 ? 0 : bearing
        location.altitude = try number("altitude", .finite)
        location.batteryLevel = try number("battery_level", .percent).map { $0 / 100 }
        location.mode = try message.optional("tracking_mode") { json throws(Refusal) in
            try json.text("ACTIVE, BALANCED, PASSIVE or CUSTOM") { TrackingMode(rawValue: $0.uppercased()) }
        }
        self.init(location)
    }
}
