import Hummingbird
import Testing
import TrackingCore
import TrackingHistory
import TrackingTesting

@testable import TrackingGateway

/// Recorded points and trips on the road, over HTTP. The points of the history lead along Avenue 1 of the generated town.
@Suite(.timeLimit(.minutes(5))) struct MatchedHistoryRouteTests {
    private static let history = "/api/v1/trackables/van/history"
    private static let trips = "/api/v1/trackables/van/trips"

    private static var town: SyntheticRoads { SyntheticRoads(corner: RecordedGateway.point(1).coordinate) }

    /// An engine that does not answer.
    private struct Away: RoadEngine {
        func match(_ request: MatchRequest) async throws(TrackingError) -> RoadMatch {
            throw TrackingError(.engineUnavailable, "cannot reach the routing engine at http://secret.example.org")
        }
        func route(_ request: RouteRequest) async throws(TrackingError) -> Route {
            throw TrackingError(.engineUnavailable, "away")
        }
    }

    /// An engine that finds every fix on one straight road, without a search.
    private struct OneRoad: RoadEngine {
        func match(_ request: MatchRequest) async throws(TrackingError) -> RoadMatch {
            let places = request.points.map(\.coordinate)
            let points = places.indices.map {
                RoadMatch.Point(coordinate: places[$0], confidence: .matched, edge: 0, segment: max(0, $0 - 1))
            }
            return RoadMatch(points: points, edges: [RoadMatch.Edge(id: 1, road: "Straight Road")], shape: places)
        }
        func route(_ request: RouteRequest) async throws(TrackingError) -> Route {
            throw TrackingError(.noRoad, "no route")
        }
    }

    @Test func theAnswerHasTheWayAndTheRoads() async throws {
        let stage = try await RecordedGateway(["van": 130], roads: Self.town)
        let token = try await stage.gateway.token()
        try await stage.test { client in
            let answer = try await client.execute(
                uri: "\(Self.history)?matched=true", method: .get, headers: .bearer(token))
            #expect(answer.status == .ok)
            let features = try #require(answer.json?["features"]?.list)
            let points = features.filter { $0["geometry"]?["type"]?.text == "Point" }
            #expect(points.count == 130)
            #expect(points.allSatisfy { $0["properties"]?["road"]?.text == "Avenue 1" })
            #expect(features.count == 131 && features.last?["geometry"]?["type"]?.text == "LineString")
            let unmatched = try await client.execute(
                uri: "\(Self.history)?matched=false", method: .get, headers: .bearer(token))
            #expect(unmatched.json?["features"]?.list?.count == 130 && !unmatched.text.contains("road"))
        }
    }

    /// Points of several runs are written once each, while the history is read.
    @Test(arguments: HistoryFormat.allCases) func aLongHistoryIsMatchedInRuns(format: HistoryFormat) async throws {
        let stage = try await RecordedGateway(["van": 4100], roads: OneRoad())
        let token = try await stage.gateway.token()
        try await stage.test { client in
            func lines(_ query: String) async throws -> Int {
                let answer = try await client.execute(
                    uri: "\(Self.history)?format=\(format.rawValue)\(query)", method: .get, headers: .bearer(token))
                #expect(answer.status == .ok)
                return answer.text.split(whereSeparator: \.isNewline).filter { !$0.contains("LineString") }.count
            }
            let (matched, recorded) = (try await lines("&matched=true"), try await lines(""))
            #expect(matched == recorded)
        }
    }

    @Test func tripsHaveTheDistanceAlongTheRoads() async throws {
        let stage = try await RecordedGateway(["van": 130], roads: Self.town)
        let token = try await stage.gateway.token()
        try await stage.test { client in
            let answer = try await client.execute(
                uri: "\(Self.trips)?matched=true", method: .get, headers: .bearer(token))
            let trip = answer.json?["trips"]?.list?.first
            let distance = try #require(trip?["roadDistance"]?.number)
            #expect(abs(distance - (trip?["distance"]?.number ?? 0)) < 5)
            let other = try await client.execute(uri: Self.trips, method: .get, headers: .bearer(token))
            #expect(other.status == .ok && other.json?["trips"]?.list?.first?["roadDistance"] == nil)
        }
    }

    /// The reason names neither the address of the engine nor another secret.
    @Test(arguments: [Self.history, Self.trips]) func anEngineThatIsAwayIsUnavailable(route: String) async throws {
        let stage = try await RecordedGateway(["van": 130], roads: Away())
        let token = try await stage.gateway.token()
        try await stage.test { client in
            let answer = try await client.execute(uri: "\(route)?matched=true", method: .get, headers: .bearer(token))
            #expect(answer.status == .serviceUnavailable && answer.headers[.retryAfter] == "5")
            #expect(answer.json?["detail"]?.text?.hasPrefix("The routing engine does not answer now") == true)
            #expect(!answer.text.contains("secret"))
            #expect(try await client.execute(uri: route, method: .get, headers: .bearer(token)).status == .ok)
        }
    }

    @Test func aWrongRequestNamesTheReason() async throws {
        let plain = try await RecordedGateway(["van": 3])
        let plainToken = try await plain.gateway.token()
        try await plain.test { client in
            for route in [Self.history, Self.trips] {
                let answer = try await client.execute(
                    uri: "\(route)?matched=true", method: .get, headers: .bearer(plainToken))
                #expect(answer.status == .badRequest)
                #expect(answer.json?["detail"]?.text?.contains("configured no routing engine") == true)
            }
        }
        let stage = try await RecordedGateway(["van": 3], roads: Self.town)
        let token = try await stage.gateway.token()
        try await stage.test { client in
            for (query, reason) in [("matched=yes", "true or false"), ("matched=true&max-points=5", "max-points")] {
                let answer = try await client.execute(
                    uri: "\(Self.history)?\(query)", method: .get, headers: .bearer(token))
                #expect(answer.status == .badRequest, "\(query)")
                #expect(answer.json?["detail"]?.text?.contains(reason) == true, "\(query)")
            }
        }
    }
}
