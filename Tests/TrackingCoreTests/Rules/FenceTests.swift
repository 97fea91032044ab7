import Testing
import TrackingCore

@Suite struct FenceTests {
    private static func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: longitude)!
    }

    private static func ring(_ corners: [(Double, Double)]) -> [Coordinate] {
        corners.map { Self.place($0.0, $0.1) }
    }

    @Test func circleCoversItsRadius() throws {
        let center = Self.place(52.66, -8.63)
        let fence = try Fence(name: "depot", shape: .circle(center: center, radius: 200))
        #expect(fence.contains(center.destination(bearing: 77, distance: 199)))
        let outside = center.destination(bearing: 77, distance: 260)
        #expect(!fence.contains(outside))
        #expect(abs(fence.distance(from: outside).value - 60) < 0.01)
    }

    @Test func polygonLeavesItsHolesOut() throws {
        let outer = Self.ring([(52, -9), (52, -8), (53, -8), (53, -9), (52, -9)])
        let hole = Self.ring([(52.4, -8.6), (52.4, -8.4), (52.6, -8.4), (52.6, -8.6), (52.4, -8.6)])
        let fence = try Fence(name: "county", shape: .polygons([[outer, hole]]))
        #expect(fence.contains(Self.place(52.2, -8.5)))
        #expect(!fence.contains(Self.place(52.5, -8.5)))
        #expect(!fence.contains(Self.place(51.9, -8.5)))
        #expect(fence.distance(from: Self.place(52.2, -8.5)) == 0)
        // One minute of latitude south of the southern edge.
        let distance = fence.distance(from: Self.place(52 - 1.0 / 60, -8.5)).value
        #expect(abs(distance - 1853.2) < 1)
    }

    @Test func polygonOfSeveralAreas() throws {
        let west = Self.ring([(52, -9), (52, -8.9), (52.1, -8.9), (52.1, -9), (52, -9)])
        let east = Self.ring([(52, -8.1), (52, -8), (52.1, -8), (52.1, -8.1), (52, -8.1)])
        let fence = try Fence(name: "yards", shape: .polygons([[west], [east]]))
        #expect(fence.contains(Self.place(52.05, -8.95)))
        #expect(fence.contains(Self.place(52.05, -8.05)))
        #expect(!fence.contains(Self.place(52.05, -8.5)))
    }

    /// A point is inside when the edge winds around it an odd number of times.
    @Test func polygonThatCrossesItself() throws {
        let eight = Self.ring([(52, -9), (53, -8), (53, -9), (52, -8), (52, -9)])
        let halves = try Fence(name: "eight", shape: .polygons([[eight]]))
        #expect(halves.contains(Self.place(52.9, -8.5)) && halves.contains(Self.place(52.1, -8.5)))
        #expect(!halves.contains(Self.place(52.5, -8.9)) && !halves.contains(Self.place(52.5, -8.1)))
        let points = [(53, -8.5), (52.19, -7.91), (52.69, -9.02), (52.69, -7.98), (52.19, -9.09), (53, -8.5)]
        let star = try Fence(name: "star", shape: .polygons([[Self.ring(points)]]))
        #expect(star.contains(Self.place(52.9, -8.5)) && !star.contains(Self.place(52.55, -8.5)))
    }

    @Test func polygonAcrossTheAntimeridian() throws {
        let ring = Self.ring([(-18, 179), (-18, -179), (-16, -179), (-16, 179), (-18, 179)])
        let fence = try Fence(name: "Taveuni", shape: .polygons([[ring]]))
        #expect(fence.contains(Self.place(-17, 179.9)))
        #expect(fence.contains(Self.place(-17, -179.9)))
        #expect(!fence.contains(Self.place(-17, 178.5)))
        #expect(!fence.contains(Self.place(-17, 0)))
    }

    /// A polygon that reaches round the earth has no distinct inside, so it is refused.
    @Test(arguments: [
        // A ring around the north pole, and one along the equator.
        (ring([(80, 0), (80, 90), (80, 180), (80, -90), (80, 0)]), "ring 1 of area 1 goes round a pole"),
        (
            ring([(-5, -180), (-5, -60), (-5, 60), (-5, 180), (5, 180), (5, 60), (5, -60), (5, -180), (-5, -180)]),
            "spans 360"
        ),
        // A ring of corners around most of a hemisphere.
        (ring([(0, 0), (0, 100), (0, -160), (10, -160), (10, 100), (10, 0), (0, 0)]), "spans 200"),
        (ring([(0, -90), (0, 90), (10, 90), (10, -90), (0, -90)]), "half round the earth"),
    ])
    func refusesAPolygonThatReachesRoundTheEarth(_ ring: [Coordinate], _ reason: String) {
        let error = #expect(throws: TrackingError.self) { try Fence(name: "x", shape: .polygons([[ring]])) }
        #expect(error?.message.contains(reason) == true && error?.message.contains("cut it") == true)
    }

    @Test(arguments: [
        (Fence.Shape.circle(center: place(0, 0), radius: 9), "radius"),
        (.circle(center: place(0, 0), radius: .init(.nan)), "radius"),
        (.polygons([]), "outer ring"),
        (.polygons([[]]), "outer ring"),
        (.polygons([[ring([(0, 0), (0, 1), (0, 0)])]]), "four places"),
        (.polygons([[ring([(0, 0), (0, 1), (1, 1), (1, 0)])]]), "its last place must be its first"),
        (.polygons([[Array(repeating: place(0, 0), count: 10_001)]]), "corners"),
        (.polygons([[ring([(0, 0), (0, 0), (0, 0), (0, 0)])]]), "three different places"),
    ])
    func refusesAShapeWithoutAnArea(_ shape: Fence.Shape, _ reason: String) {
        let error = #expect(throws: TrackingError.self) { try Fence(name: "x", shape: shape) }
        #expect(error?.message.contains(reason) == true)
        #expect(error?.message.contains("'x'") == true)
    }
}
