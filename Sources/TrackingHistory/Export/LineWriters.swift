import TrackingCore

/// One line a point, for people: time, place and what is known of height, movement and accuracy.
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

/// One Feature a line, as the protocol has it. A line end in an `extra`, where it is white space, becomes a blank.
struct JSONLinesWriter: PointWriter {
    func append(_ point: Location) -> [UInt8] {
        LocationCodec.encodeFeature(point).map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } + [0x0A]
    }
}

/// A FeatureCollection, one Feature a line. A Feature that the track does not go on to from the one before has the member
/// `interrupted`, beside its properties, which are the point's.
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
