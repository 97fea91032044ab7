private import Glibc

/// A named area on the ground.
public struct Fence: Hashable, Sendable {
    /// What it covers.
    public enum Shape: Hashable, Sendable {
        /// Everything within `radius` metres of `center`.
        case circle(center: Coordinate, radius: Meters)
        /// Areas, each an outer ring and the rings of its holes, as GeoJSON has them (RFC 7946, 3.1.6); the edges are straight in
        /// latitude and longitude, and go the shorter way round.
        case polygons([[[Coordinate]]])
    }

    /// The most corners a fence may have.
    public static let maximumCorners = 10_000

    /// Its name: 1 to 64 bytes.
    public let name: String
    /// What it covers.
    public let shape: Shape

    /// Makes a fence.
    ///
    /// - Throws: `invalidConfiguration` that says which range was left: a radius of 10 m to 100 km, rings of at least four
    ///   places, three of them different, whose last is the first, of less than 180 degrees of longitude, at most ``maximumCorners`` of them.
    public init(name: String, shape: Shape) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration, "a fence's name has 1 to 64 bytes; this one has \(name.utf8.count)")
        }
        if let problem = Self.problem(shape) {
            throw TrackingError(.invalidConfiguration, "fence '\(name)': \(problem)")
        }
        self.name = name
        self.shape = shape
    }

    private static func problem(_ shape: Shape) -> String? {
        switch shape {
        case .circle(_, let radius):
            return (10...100_000).contains(radius.value)
                ? nil : "the radius must be 10 to 100000 m, not \(radius.value)"
        case .polygons(let areas):
            let rings = areas.joined()
            if areas.isEmpty || areas.contains(where: \.isEmpty) { return "an area has at least an outer ring" }
            if rings.contains(where: { $0.count < 4 || $0.first != $0.last }) {
                return "each ring has at least four places, and its last is its first"
            }
            let corners = rings.reduce(0) { $0 + $1.count }
            guard corners <= Self.maximumCorners else {
                return "it has \(corners) corners, and at most \(Self.maximumCorners) are taken"
            }
            if rings.contains(where: { Set($0).count < 3 }) { return "each ring has at least three different places" }
            return areas.enumerated().lazy.compactMap { Self.problem(area: $0 + 1, $1) }.first
        }
    }

    /// What is wrong with an area that reaches too far round the earth: which side of its edges is inside could not be told.
    private static func problem(area: Int, _ rings: [[Coordinate]]) -> String? {
        for (index, ring) in rings.enumerated() {
            let name = "ring \(index + 1) of area \(area)"
            let cut = "cut it into polygons of less than 180 degrees of longitude each"
            var longitude = 0.0
            var reached = 0.0...0.0
            for (from, to) in zip(ring, ring.dropFirst()) {
                let edge = (to.longitude - from.longitude).turned
                guard abs(edge) < 180 else {
                    return
                        "\(name) has an edge from longitude \(from.longitude) to \(to.longitude), half round the earth: \(cut)"
                }
                longitude += edge
                reached = min(reached.lowerBound, longitude)...max(reached.upperBound, longitude)
            }
            guard abs(longitude) < 1 else { return "\(name) goes round a pole: \(cut), which end at the pole" }
            let span = reached.upperBound - reached.lowerBound
            guard span < 180 else { return "\(name) spans \(span) degrees of longitude: \(cut)" }
        }
        return nil
    }

    /// Whether it covers a place.
    public func contains(_ place: Coordinate) -> Bool {
        switch self.shape {
        case .circle(let center, let radius): place.distance(to: center) <= radius
        case .polygons(let areas): areas.contains { Self.covers($0, place) }
        }
    }

    /// How far a place is from the fence, 0 inside. Of polygons, in the plane that touches the earth at the place: exact enough
    /// where it is near, which is what it is for.
    public func distance(from place: Coordinate) -> Meters {
        switch self.shape {
        case .circle(let center, let radius):
            return max(0, Meters(place.distance(to: center).value - radius.value))
        case .polygons(let areas):
            guard !self.contains(place) else { return 0 }
            let edges = areas.joined().joined(by: place)
            return Meters(edges.map { $0.distanceToOrigin }.min() ?? .infinity)
        }
    }

    /// How far outside a trackable that was inside must be to have left: a tenth of the radius, 10 m at least; of polygons 20 m.
    var margin: Meters {
        switch self.shape {
        case .circle(_, let radius): max(10, Meters(radius.value / 10))
        case .polygons: 20
        }
    }

    /// The even-odd rule over all rings of an area: a hole's ring is crossed once more.
    private static func covers(_ rings: [[Coordinate]], _ place: Coordinate) -> Bool {
        rings.joined(by: place).reduce(false) { $0 != $1.crossesRayEast }
    }
}

/// An edge of a ring, in metres east and north of a place.
private struct Edge {
    var from: (east: Double, north: Double)
    var to: (east: Double, north: Double)

    /// Whether a ray from the origin to the east crosses it; of its ends, the lower one counts.
    var crossesRayEast: Bool {
        guard (self.from.north > 0) != (self.to.north > 0) else { return false }
        let share = self.from.north / (self.from.north - self.to.north)
        return self.from.east + share * (self.to.east - self.from.east) > 0
    }

    var distanceToOrigin: Double {
        let (east, north) = (self.to.east - self.from.east, self.to.north - self.from.north)
        let length = east * east + north * north
        let share =
            length == 0 ? 0 : max(0, min(1, -(self.from.east * east + self.from.north * north) / length))
        return hypot(self.from.east + share * east, self.from.north + share * north)
    }
}

extension Sequence<[Coordinate]> {
    /// The edges of all rings as seen from a place. Each ring is followed along the shorter way from corner to corner, across the
    /// antimeridian too.
    fileprivate func joined(by place: Coordinate) -> [Edge] {
        let north = Coordinate.meanEarthRadius.value.radians
        let east = north * cos(place.latitude.radians)
        var edges: [Edge] = []
        for ring in self {
            var longitude = place.longitude
            var last: (east: Double, north: Double)?
            for corner in ring {
                longitude += (corner.longitude - longitude).turned
                let next = ((longitude - place.longitude) * east, (corner.latitude - place.latitude) * north)
                if let last { edges.append(Edge(from: last, to: next)) }
                last = next
            }
        }
        return edges
    }
}

extension Double {
    /// This angle in degrees, brought into -180…180 by whole turns.
    fileprivate var turned: Double { self - (self / 360).rounded() * 360 }
}
