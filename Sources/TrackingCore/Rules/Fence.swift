private import SystemLibrary

/// A named area on the ground, used in conditions of rules such as "a trackable enters the fence". A fence hides no
/// positions.
public struct Fence: Hashable, Sendable {
    /// The shape of a fence on the ground: a circle or polygons.
    public enum Shape: Hashable, Sendable {
        /// A circle: all places within `radius` (10 m to 100 km) of `center`.
        case circle(center: Coordinate, radius: Meters)
        /// Areas, each given by an outer ring and the rings of its holes (GeoJSON, RFC 7946, 3.1.6). An edge is a
        /// straight line in latitude and longitude, and takes the shorter way around the earth.
        case polygons([[[Coordinate]]])
    }

    /// The maximum number of corners of a fence, over all its rings: 10,000.
    public static let maximumCorners = 10_000

    /// The name of the fence: 1 to 64 bytes of UTF-8.
    public let name: String
    /// The shape of the fence: the circle or the polygons that it covers on the ground.
    public let shape: Shape

    /// Creates a fence, a named area on the ground, from its name and its shape.
    ///
    /// - Parameters:
    ///   - name: The name, 1 to 64 bytes of UTF-8.
    ///   - shape: The covered area.
    /// - Throws: `invalidConfiguration` for a name outside of these bounds; for a radius outside of 10 m to 100 km; for
    ///   no area, or an area without an outer ring; for a ring with fewer than four places or fewer than three
    ///   different ones, or whose last place is not its first; for a ring that spans 180 degrees of longitude or more,
    ///   surrounds a pole, or has an edge half round the earth; and for more than ``maximumCorners`` corners.
    public init(name: String, shape: Shape) throws(TrackingError) {
        guard (1...64).contains(name.utf8.count) else {
            throw TrackingError(
                .invalidConfiguration, "cannot use a fence name of \(name.utf8.count) bytes: a name has 1 to 64 bytes")
        }
        if let problem = Self.problem(shape) {
            throw TrackingError(.invalidConfiguration, "cannot use fence '\(name)': \(problem)")
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
            if areas.isEmpty || areas.contains(where: \.isEmpty) { return "each area must have at least an outer ring" }
            if rings.contains(where: { $0.count < 4 || $0.first != $0.last }) {
                return "each ring must have at least four places, and its last place must be its first"
            }
            let corners = rings.reduce(0) { $0 + $1.count }
            guard corners <= Self.maximumCorners else {
                return "it has \(corners) corners: use at most \(Self.maximumCorners)"
            }
            if rings.contains(where: { Set($0).count < 3 }) {
                return "each ring must have at least three different places"
            }
            return areas.enumerated().lazy.compactMap { Self.problem(area: $0 + 1, $1) }.first
        }
    }

    /// Checks the rings of one area of a fence. Returns the problem of the first ring that cannot be used, as text for
    /// people. Such a ring has an edge of half the way round the earth, surrounds a pole, or spans 180 degrees of
    /// longitude or more. Returns `nil` when all rings are usable.
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

    /// Returns `true` when a place is inside the fence.
    public func contains(_ place: Coordinate) -> Bool {
        switch self.shape {
        case .circle(let center, let radius): place.distance(to: center) <= radius
        case .polygons(let areas): areas.contains { Self.covers($0, place) }
        }
    }

    /// Returns the distance of a place from the fence; 0 when the place is inside. The distance from polygons is
    /// calculated on a flat map around the place, which is exact enough near the fence.
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

    /// The distance outside the fence beyond which a trackable counts as having left it. For a circle, it is a tenth of
    /// the radius, at least 10 m; for polygons, it is 20 m.
    var margin: Meters {
        switch self.shape {
        case .circle(_, let radius): max(10, Meters(radius.value / 10))
        case .polygons: 20
        }
    }

    /// Returns `true` when a place lies inside an area, by the even-odd rule: a ray from the place to the east crosses
    /// an odd number of edges. The edges of holes count too.
    private static func covers(_ rings: [[Coordinate]], _ place: Coordinate) -> Bool {
        rings.joined(by: place).reduce(false) { $0 != $1.crossesRayEast }
    }
}

/// An edge of a ring. Its ends are given in metres east and north of a place, the origin.
private struct Edge {
    var from: (east: Double, north: Double)
    var to: (east: Double, north: Double)

    /// `true` when a ray from the origin to the east crosses the edge. An end of the edge exactly on the ray counts
    /// only if it is the lower end.
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
    /// Returns the edges of these rings, with their ends in metres east and north of `place`. Each edge takes the
    /// shorter way around the earth.
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
    /// This angle in degrees, with whole turns of 360 degrees removed, so that the result is within -180…180.
    fileprivate var turned: Double { self - (self / 360).rounded() * 360 }
}
