import Testing
import TrackingCore
import TrackingTesting

@Suite struct SyntheticRoadsTests {
    private let town = SyntheticRoads()

    private func place(east: Double, north: Double) -> Coordinate {
        SyntheticRoads.corner.destination(bearing: 0, distance: Meters(north))
            .destination(bearing: 90, distance: Meters(east))
    }

    private func route(
        _ start: (Double, Double), _ stops: [(Double, Double)], bearing: Double? = nil, _ profile: TravelProfile = .auto
    ) async throws(TrackingError) -> Route {
        try await self.town.route(
            RouteRequest(
                start: self.place(east: start.0, north: start.1), bearing: bearing,
                stops: stops.map { self.place(east: $0.0, north: $0.1) }, profile: profile))
    }

    private func match(_ places: [(Double, Double)]) async throws(TrackingError) -> RoadMatch {
        let points = places.enumerated().map { index, place in
            let coordinate = self.place(east: place.0, north: place.1)
            return MatchRequest.Point(coordinate: coordinate, time: UnixTime(Double(index) * 10))
        }
        return try await self.town.match(MatchRequest(points: points, profile: .auto))
    }

    @Test func theTownIsTheSameEveryTime() {
        #expect(SyntheticRoads().roads == self.town.roads)
        #expect(Set(self.town.roads.map(\.name)).count == 2 * SyntheticRoads.streets + 2)
    }

    @Test func aRouteHasALegForEachStop() async throws {
        let route = try await self.route((10, 0), [(390, 0), (600, 190)])
        #expect(route.legs.count == 2)
        #expect(abs(route.legs[0].length.value - 380) < 2)
        #expect(abs(route.legs[0].duration.inSeconds - 380 / (8.3 * 0.9)) < 1)
        #expect(route.legs[0].shape.last == route.legs[1].shape.first)
    }

    /// Avenue 2 is 200 m east and leads north; Avenue 4 is 600 m east and leads south.
    @Test func oneWayStreetsAreRespected() async throws {
        let north = try await self.route((200, 210), [(200, 390)])
        #expect(abs(north.legs[0].length.value - 180) < 2)
        let south = try await self.route((200, 390), [(200, 210)])
        #expect(south.legs[0].length.value > 600, "round the block")
        let onFoot = try await self.route((200, 390), [(200, 210)], .pedestrian)
        #expect(abs(onFoot.legs[0].length.value - 180) < 2)
    }

    @Test func theDirectionOfTravelDecidesTheStart() async throws {
        let ahead = try await self.route((300, 0), [(390, 0)], bearing: 90)
        #expect(abs(ahead.legs[0].length.value - 90) < 2)
        let behind = try await self.route((300, 0), [(390, 0)], bearing: 270)
        #expect(behind.legs[0].length.value > 200)
    }

    @Test func theTrunkRoadIsFasterAndNotForBicycles() async throws {
        let byCar = try await self.route((50, 0), [(50, 1600)])
        #expect(byCar.legs[0].shape.contains { $0.longitude < SyntheticRoads.corner.longitude - 0.0001 })
        let byBicycle = try await self.route((50, 0), [(50, 1600)], .bicycle)
        #expect(!byBicycle.legs[0].shape.contains { $0.longitude < SyntheticRoads.corner.longitude - 0.0001 })
        #expect(byCar.legs[0].duration < byBicycle.legs[0].duration)
    }

    @Test func theRoundaboutIsDrivenAgainstTheClock() async throws {
        let straight = try await self.route((700, 800), [(900, 800)])
        let middle = self.place(east: 800, north: 800)
        let around = straight.legs[0].shape.filter { $0.distance(to: middle).value < 26 }
        #expect(around.count == 7, "half of the twelve points and both ends")
        #expect(around.allSatisfy { $0.latitude < middle.latitude + 0.00001 }, "traffic keeps right")
    }

    @Test func farFromTheTownIsNoRoad() async throws {
        await #expect {
            try await self.route((50_000, 0), [(0, 0)])
        } throws: { ($0 as? TrackingError)?.code == .noRoad }
        await #expect {
            try await self.match([(50_000, 0), (50_010, 0)])
        } throws: { ($0 as? TrackingError)?.code == .noRoad }
    }

    @Test func fixesAreMatchedWithTheStreet() async throws {
        let match = try await self.match([(20, 6), (80, -7), (140, 5), (205, 60), (196, 120)])
        #expect(match.points.map(\.confidence) == Array(repeating: .matched, count: 5))
        let names = match.points.compactMap { $0.edge.map { match.edges[$0].road } }
        #expect(names == ["Street 1", "Street 1", "Street 1", "Avenue 2", "Avenue 2"])
        let corner = self.place(east: 200, north: 0)
        #expect(match.shape.contains { $0.distance(to: corner).value < 0.1 }, "the way leads round the corner")
        for point in match.points {
            let segment = try #require(point.segment)
            #expect(segment + 1 < match.shape.count)
        }
    }

    /// Avenue 1 is the frontage road of the trunk road, 25 m beside it.
    @Test func aDriveOnTheTrunkRoadStaysThere() async throws {
        let places = (1...12).map { index -> (Double, Double) in
            let east: Double = index % 3 == 0 ? -11 : -27
            return (east, Double(index) * 110)
        }
        let match = try await self.match(places)
        let names = Set(match.points.compactMap { $0.edge.flatMap { match.edges[$0].road } })
        #expect(names == ["Trunk Road"])
    }

    @Test func aFixOffTheRoadsIsSaidToBe() async throws {
        let match = try await self.match([(20, 0), (60, 0), (100, 100), (140, 0)])
        #expect(match.points.map(\.confidence) == [.matched, .matched, .offRoad, .matched])
        #expect(match.points[2].coordinate == self.place(east: 100, north: 100) && match.points[2].edge == nil)
    }

    @Test func aNoisyDriveFollowsItsRoute() async throws {
        let route = try await self.route((10, 0), [(1500, 1500)])
        var generator = SplitMix(state: 42)
        var points: [MatchRequest.Point] = []
        for (start, end) in zip(route.legs[0].shape, route.legs[0].shape.dropFirst()) {
            let length = start.distance(to: end).value
            for along in stride(from: 0, to: length, by: 40) {
                let bearing = Double.random(in: 0..<360, using: &generator)
                let coordinate = start.interpolated(to: end, fraction: along / length)
                    .destination(bearing: bearing, distance: Meters(Double.random(in: 0...8, using: &generator)))
                points.append(MatchRequest.Point(coordinate: coordinate, time: UnixTime(Double(points.count) * 5)))
            }
        }
        let match = try await self.town.match(MatchRequest(points: points, profile: .auto))
        let driven = zip(match.shape, match.shape.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1).value }
        #expect(abs(driven - route.legs[0].length.value) < 0.05 * route.legs[0].length.value)
        #expect(try await self.town.match(MatchRequest(points: points, profile: .auto)) == match)
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
