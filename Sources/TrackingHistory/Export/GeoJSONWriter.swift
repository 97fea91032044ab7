import TrackingCore

/// Writes a FeatureCollection with one Feature on each line. The first Feature after an interruption of the track has
/// the member `interrupted`, next to its properties.
///
/// The ways between matched points are lines. A line has at most ``lineLimit`` positions, and the next line begins with
/// its last position. A line is divided at an interruption and at the antimeridian.
struct GeoJSONWriter: PointWriter {
    /// The maximum number of positions of a line, which the writer holds in memory.
    static let lineLimit = 2_000

    private let isMatched: Bool
    private var isFirst = true
    private var isInterrupted = false
    private var line: [Coordinate] = []

    init(isMatched: Bool) { self.isMatched = isMatched }

    func begin() -> String { #"{"type":"FeatureCollection","features":["# }

    mutating func append(_ point: Location) -> [UInt8] { self.separated(LocationCodec.encodeFeature(point)) }

    mutating func append(_ point: MatchedPoint) -> [UInt8] {
        var lines = ""
        for place in point.way + [point.location.coordinate] { lines += self.extend(to: place) }
        return Array(lines.utf8) + self.separated(point.feature)
    }

    mutating func interrupt() -> String {
        defer { self.isInterrupted = true }
        return self.endLine()
    }

    mutating func finish() -> String { self.endLine() + "\n]}\n" }

    private mutating func separated(_ feature: [UInt8]) -> [UInt8] {
        defer { (self.isFirst, self.isInterrupted) = (false, false) }
        guard !self.isFirst else { return Array("\n".utf8) + feature }
        guard self.isInterrupted else { return Array(",\n".utf8) + feature }
        return Array(",\n{\"interrupted\":true,".utf8) + feature.dropFirst()
    }

    /// Extends the line to a position. Returns the Feature of the line if it ended before.
    private mutating func extend(to place: Coordinate) -> String {
        guard let last = self.line.last else {
            self.line = [place]
            return ""
        }
        guard place != last else { return "" }
        let crossesAntimeridian = abs(place.longitude - last.longitude) > 180
        let ended = crossesAntimeridian || self.line.count >= Self.lineLimit ? self.endLine() : ""
        if !ended.isEmpty, !crossesAntimeridian { self.line = [last] }
        self.line.append(place)
        return ended
    }

    /// Ends the line, and returns its Feature; an empty text for a line of one position.
    private mutating func endLine() -> String {
        defer { self.line = [] }
        guard self.line.count > 1 else { return "" }
        let places = self.line.map { "[\($0.longitude.decimal ?? ""),\($0.latitude.decimal ?? "")]" }
        return #",\#n{"type":"Feature","geometry":{"type":"LineString","coordinates":["#
            + places.joined(separator: ",") + #"]},"properties":{}}"#
    }
}

extension MatchedPoint {
    /// The point as a GeoJSON Feature with all members of the protocol, and with the properties `road` and `confidence`.
    var feature: [UInt8] {
        let feature = LocationCodec.encodeFeature(self.location)
        let road = self.road.map { #""road":"# + String(decoding: JSONValue.text($0).json, as: UTF8.self) + "," } ?? ""
        let members = #"\#(road)"confidence":"\#(self.confidence.rawValue)""#
        // The properties are the last member. They are empty for a point without a valid time.
        let properties = feature.dropLast(2)
        return properties + Array(((properties.last == UInt8(ascii: "{") ? "" : ",") + members + "}}").utf8)
    }
}
