import Testing

@testable import TrackingCore

@Suite struct PolylineTests {
    /// The example of the format's first description, with six decimals.
    private static let example = "_izlhA~rlgdF_{geC~ywl@_kwzCn`{nI"
    private static let points = [(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)].map {
        Coordinate(latitude: $0.0, longitude: $0.1)!  // in range
    }

    @Test func encodesTheKnownExample() { #expect(Polyline.encode(Self.points) == Self.example) }

    @Test func decodesTheKnownExample() { #expect(Polyline.decode(Self.example, limit: 3) == Self.points) }

    @Test func anEmptyTextHasNoPoints() {
        #expect(Polyline.encode([]) == "")
        #expect(Polyline.decode("", limit: 0) == [])
    }

    @Test func readsBackRandomPointsWithSixDecimals() throws {
        var generator = WireGenerator(seed: 17)
        for _ in 0..<300 {
            let points = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
                Coordinate(
                    latitude: Double.random(in: -90...90, using: &generator),
                    longitude: Double.random(in: -180...180, using: &generator))!  // in range
            }
            let text = Polyline.encode(points)
            let decoded = try #require(Polyline.decode(text, limit: points.count))
            #expect(decoded.count == points.count)
            for (point, read) in zip(points, decoded) {
                #expect(abs(point.latitude - read.latitude) < 5.1e-7 && abs(point.longitude - read.longitude) < 5.1e-7)
            }
            #expect(Polyline.encode(decoded) == text)
        }
    }

    @Test func readsBackTheCornersOfTheEarth() {
        let corners = [(90.0, 180.0), (-90, -180), (90, -180), (-90, 180), (0, 0)].map {
            Coordinate(latitude: $0.0, longitude: $0.1)!  // in range
        }
        #expect(Polyline.decode(Polyline.encode(corners), limit: 5) == corners)
    }

    @Test func rejectsMorePointsThanTheLimit() { #expect(Polyline.decode(Self.example, limit: 2) == nil) }

    @Test(arguments: [
        "_", "_izlhA", "_izlhA~rlgd", " izlhA~rlgdF", "\u{7F}", "é", "~~~~~~~~~~~~", "~~~~~^~~~~~^",
        // Latitudes above 90 degrees, in one step and in two.
        "_ifpgLA", "_ibayAA_ibayAA",
    ])
    func rejects(text: String) { #expect(Polyline.decode(text, limit: 100) == nil) }
}
