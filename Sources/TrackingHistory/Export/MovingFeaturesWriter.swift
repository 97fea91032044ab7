import TrackingCore

/// Writes OGC Moving Features JSON 1.0 (19-045r3): a FeatureCollection with a `MovingPoint` for each piece of the
/// track.
///
/// A `MovingPoint` has all its times before all its positions, so the writer holds its points in memory. Therefore a
/// long track consists of several features; each begins with the last point of the previous one. The format permits
/// each time only once, so only the first of several points with one time is written. A track is divided at the
/// antimeridian, because readers interpolate linearly in degrees.
struct MovingFeaturesWriter: PointWriter {
    private let name: String
    private var piece = TrackPiece()
    private var isContinued = false
    private var isFirst = true

    init(_ trackable: TrackableID) {
        self.name = String(decoding: JSONValue.text(trackable.rawValue).json, as: UTF8.self)
    }

    func begin() -> String { #"{"type":"FeatureCollection","features":["# }

    mutating func append(_ point: Location) -> [UInt8] {
        var text = ""
        if let last = self.piece.points.last {
            let seconds = point.time.seconds - last.time.seconds
            // Times are written in microseconds; closer times would be equal.
            if seconds.magnitude < 1e-6 { return [] }
            let degrees = abs(point.coordinate.longitude - last.coordinate.longitude)
            if seconds < 0 || degrees > 180 { text += self.interrupt() }
        }
        if let points = self.piece.append(point) {
            text += self.feature(points)
            self.isContinued = true
        }
        return Array(text.utf8)
    }

    mutating func interrupt() -> String {
        defer { self.isContinued = false }
        return self.piece.finish(hasGiven: self.isContinued).map { self.feature($0) } ?? ""
    }

    mutating func finish() -> String { self.interrupt() + "\n]}\n" }

    private mutating func feature(_ points: [Location]) -> String {
        defer { self.isFirst = false }
        let times = points.map { "\"\(ISO8601.text($0.time))\"" }.joined(separator: ",")
        let hasAltitude = points.allSatisfy { $0.altitude?.isFinite == true }
        let places = points.map { Self.coordinates(of: $0, hasAltitude: hasAltitude) }.joined(separator: ",")
        return (self.isFirst ? "\n" : ",\n")
            + #"{"type":"Feature","temporalGeometry":{"type":"MovingPoint","datetimes":["# + times
            + #"],"coordinates":["# + places + #"],"interpolation":"Linear"},"properties":{"trackable":"# + self.name
            + "}}"
    }

    /// Returns the coordinates of a point as JSON. All positions of one `MovingPoint` must have the same dimension, so
    /// `hasAltitude` states for all of them whether an altitude is written.
    private static func coordinates(of point: Location, hasAltitude: Bool) -> String {
        let place = point.coordinate
        let altitude = hasAltitude ? point.altitude?.decimal : nil
        return "["
            + [place.longitude.decimal, place.latitude.decimal, altitude].compactMap(\.self).joined(separator: ",")
            + "]"
    }
}
