import BenchmarkSupport
import TrackingCore
import TrackingTesting

/// A generated region of 8 by 8 km for the estimates: a grid of streets every 500 m, of which every fourth is fast.
struct Region: Sendable {
    /// The number of streets in each direction.
    static let streets = 17
    private static let block = 500.0
    private static let corner = SyntheticRoads.corner

    /// The routing engine with the streets of the region.
    let engine = SyntheticRoads(roads: Self.roads)
    private let speeds: [[Coordinate]: Double]

    init() {
        var speeds: [[Coordinate]: Double] = [:]
        for road in Self.roads {
            for (start, end) in zip(road.shape, road.shape.dropFirst()) {
                speeds[[start.rounded, end.rounded]] = road.speedLimit
                speeds[[end.rounded, start.rounded]] = road.speedLimit
            }
        }
        self.speeds = speeds
    }

    /// Returns the speed limit between two neighbouring crossings in metres per second.
    func speedLimit(from start: Coordinate, to end: Coordinate) throws -> Double {
        guard let limit = self.speeds[[start.rounded, end.rounded]] else {
            throw BenchmarkError("no street of the region leads from \(start) to \(end)")
        }
        return limit
    }

    /// Returns the crossing of two streets.
    static func crossing(east: Int, north: Int) -> Coordinate {
        self.corner.destination(bearing: 0, distance: Meters(Double(north) * self.block))
            .destination(bearing: 90, distance: Meters(Double(east) * self.block))
    }

    private static var roads: [SyntheticRoads.Road] {
        (0..<self.streets).flatMap { number in
            let (limit, roadClass) =
                number % 4 == 0 ? (19.4, "secondary") : number % 2 == 0 ? (13.9, "tertiary") : (8.3, "residential")
            let shapes = [
                (0..<self.streets).map { self.crossing(east: number, north: $0) },
                (0..<self.streets).map { self.crossing(east: $0, north: number) },
            ]
            return shapes.enumerated().map { index, shape in
                SyntheticRoads.Road(
                    way: UInt64(100 * (index + 1) + number), name: "Street \(number)", roadClass: roadClass,
                    speedLimit: limit, isOneWay: false, shape: shape)
            }
        }
    }
}

extension Coordinate {
    /// The coordinate with six decimals, by which coordinates from different calculations are compared.
    var rounded: Coordinate {
        Coordinate(latitude: (self.latitude * 1e6).rounded() / 1e6, longitude: (self.longitude * 1e6).rounded() / 1e6)
            ?? self
    }
}
