import TrackingCore

/// Writes one line for each point, for people: time, position, the known values of altitude, movement and accuracy, and
/// the record number in the publisher's log.
struct TextWriter: PointWriter {
    func append(_ point: Location) -> [UInt8] {
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
        return Array((parts.joined(separator: " ") + "\n").utf8)
    }
}

/// Writes one GeoJSON Feature on each line, with all members of the protocol. The member `extra`, free JSON of the
/// point's source, may contain line ends; they are replaced by spaces.
struct JSONLinesWriter: PointWriter {
    func append(_ point: Location) -> [UInt8] {
        LocationCodec.encodeFeature(point).map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } + [0x0A]
    }
}

/// Writes a FeatureCollection with one Feature on each line. The first Feature after an interruption of the track has
/// the member `interrupted`, next to its properties.
struct GeoJSONWriter: PointWriter {
    private var isFirst = true
    private var isInterrupted = false

    func begin() -> String { #"{"type":"FeatureCollection","features":["# }

    mutating func append(_ point: Location) -> [UInt8] {
        defer { (self.isFirst, self.isInterrupted) = (false, false) }
        let feature = LocationCodec.encodeFeature(point)
        guard !self.isFirst else { return Array("\n".utf8) + feature }
        guard self.isInterrupted else { return Array(",\n".utf8) + feature }
        return Array(",\n{\"interrupted\":true,".utf8) + feature.dropFirst()
    }

    mutating func interrupt() -> String {
        self.isInterrupted = true
        return ""
    }

    func finish() -> String { "\n]}\n" }
}
