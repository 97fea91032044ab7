import TrackingCore

/// Writes one line for each point, for people: time, position, the known values of altitude, movement and accuracy, and
/// the record number in the publisher's log.
struct TextWriter: PointWriter {
    func append(_ point: Location) -> [UInt8] { Array((Self.line(point) + "\n").utf8) }

    func append(_ point: MatchedPoint) -> [UInt8] {
        let road = point.road.map { " on \($0.printable)" } ?? (point.confidence == .offRoad ? " off the road" : "")
        return Array((Self.line(point.location) + road + "\n").utf8)
    }

    private static func line(_ point: Location) -> String {
        let place = point.coordinate
        var parts = [ISO8601.text(point.time), "\(place.latitude.decimal ?? ""),\(place.longitude.decimal ?? "")"]
        func add(_ prefix: String, _ value: Double?, _ unit: String) {
            if let text = value?.decimal { parts.append(prefix + text + unit) }
        }
        add("", point.altitude, " m")
        add("", point.speed, " m/s")
        add("", point.bearing, "°")
        add("±", point.accuracyHorizontal, " m")
        if let seq = point.seq { parts.append("#\(seq)") }
        return parts.joined(separator: " ")
    }
}

/// Writes one GeoJSON Feature on each line, with all members of the protocol. The member `extra`, free JSON of the
/// point's source, may contain line ends; they are replaced by spaces.
struct JSONLinesWriter: PointWriter {
    func append(_ point: Location) -> [UInt8] { Self.line(LocationCodec.encodeFeature(point)) }
    func append(_ point: MatchedPoint) -> [UInt8] { Self.line(point.feature) }

    private static func line(_ feature: [UInt8]) -> [UInt8] {
        feature.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } + [0x0A]
    }
}

/// Writes a JSON array of NextBillion.ai's `LocationData`, with one object on each line.
struct LocationDataWriter: PointWriter {
    private var isFirst = true

    func begin() -> String { "[" }

    mutating func append(_ point: Location) -> [UInt8] {
        defer { self.isFirst = false }
        return Array((self.isFirst ? "\n" : ",\n").utf8) + NextBillionLocation(point).encoded
    }

    func finish() -> String { "\n]\n" }
}

/// Writes a history file of Ably Asset Tracking (version 2.0.0), with one Feature on each line. A Feature has only the
/// members of Ably's schema. That schema requires the altitude, so an unknown altitude is written as 0.
struct AblyHistoryWriter: PointWriter {
    private var isFirst = true

    func begin() -> String { #"{"version":"2.0.0","agents":"godwit","events":["# }

    mutating func append(_ point: Location) -> [UInt8] {
        defer { self.isFirst = false }
        var event = Location(coordinate: point.coordinate, time: point.time)
        event.altitude = point.altitude.flatMap { $0.isFinite ? $0 : nil } ?? 0
        event.accuracyHorizontal = point.accuracyHorizontal
        event.accuracyVertical = point.accuracyVertical
        event.bearing = point.bearing
        event.accuracyBearing = point.accuracyBearing
        event.speed = point.speed
        event.accuracySpeed = point.accuracySpeed
        event.floor = point.floor
        return Array((self.isFirst ? "\n" : ",\n").utf8) + LocationCodec.encodeFeature(event)
    }

    func finish() -> String { "\n]}\n" }
}
