import Hummingbird
import NIOCore
import Testing
import TrackingCore

@testable import TrackingRoads

/// Valhalla's answers as a server of the test gives them: usable ones, and ones of an engine that is broken.
@Suite(.timeLimit(.minutes(5))) struct ValhallaEngineTests {
    private let street = MatchRequest(
        points: [(47.1410, 9.5215), (47.1415, 9.5212)].enumerated().map { index, place in
            MatchRequest.Point(
                coordinate: Coordinate(latitude: place.0, longitude: place.1)!,
                time: UnixTime(1_700_000_000 + Double(index)), accuracy: 8)
        }, profile: .auto)

    private let matched = """
        {"shape":"mjg|xAcvcdQqAzJ[kBg@y@kA_AmDwBaBcA","edges":[{"id":181837786034,"way_id":6065800,"names":["Städtle"],\
        "speed_limit":20,"road_class":"residential","begin_shape_index":0,"end_shape_index":1},{"id":181703568306,\
        "way_id":297716036,"names":["Altenbach"],"road_class":"residential","begin_shape_index":1,"end_shape_index":6}],\
        "matched_points":[{"lat":47.141046,"lon":9.521521,"type":"matched","edge_index":0},{"lat":47.1413,"lon":9.5214,\
        "type":"interpolated","edge_index":1}]}
        """

    @Test func aMatchHasARoadForEachFix() async throws {
        let street = self.street
        try await withServer(answering: { _ in (.ok, self.matched) }) { engine in
            let match = try await engine.match(street)
            #expect(match.points.map(\.confidence) == [.matched, .presumed])
            #expect(match.points.map(\.edge) == [0, 1])
            #expect(match.points[0].segment == 0)
            #expect(match.edges[0].road == "Städtle")
            #expect(match.edges[0].way == 6_065_800)
            #expect(abs((match.edges[0].speedLimit ?? 0) - 20 / 3.6) < 0.001)
            #expect(match.shape.count == 7)
        }
    }

    /// Valhalla rejects a trace of one point.
    @Test func aSingleFixIsSentTwice() async throws {
        let one = MatchRequest(points: [self.street.points[0]], profile: .bicycle)
        let matched = self.matched
        try await withServer(answering: { body in
            let points = (try? JSONValue(json: Array(body.utf8)))?["shape"]?.list?.count
            return points == 2 && body.contains(#""costing":"bicycle""#) ? (.ok, matched) : (.badRequest, "{}")
        }) { engine in
            let match = try await engine.match(one)
            #expect(match.points.count == 1)
        }
    }

    /// Valhalla matches points of the same time with arbitrary roads.
    @Test func eachFixHasALaterTimeThanTheOneBefore() throws {
        var request = self.street
        request.points[1].time = request.points[0].time
        request.points.append(request.points[1])
        let body = try JSONValue(json: ValhallaTrace.body(request))
        let times = body["shape"]?.list?.map { $0["time"]?.number ?? -1 }
        #expect(times == [0, 0.1, 0.2])
    }

    /// Without the penalty, a fix beside the road leads into a side street and back.
    @Test(arguments: [(TravelProfile.auto, 200.0), (.truck, 200), (.bicycle, 140), (.pedestrian, 100)])
    func aTurnHasAPenalty(profile: TravelProfile, penalty: Double) throws {
        let body = try JSONValue(json: ValhallaTrace.body(MatchRequest(points: self.street.points, profile: profile)))
        #expect(body["trace_options"]?["turn_penalty_factor"]?.number == penalty)
    }

    @Test(arguments: [
        (HTTPResponse.Status.internalServerError, "{}", TrackingError.Code.engineUnavailable),
        (.ok, #"{"shape":"mjg|x"#, .engineUnavailable),
        (.ok, "{}", .engineUnavailable),
        (.ok, #"{"shape":"","edges":[],"matched_points":[{"type":"unmatched"}]}"#, .engineUnavailable),
        (.badRequest, #"{"error_code":444,"error":"Map Match algorithm failed to find path"}"#, .noRoad),
    ]) func anUnusableAnswerIsAnError(
        status: HTTPResponse.Status, body: String, code: TrackingError.Code
    ) async throws {
        let street = self.street
        try await withServer(answering: { _ in (status, body) }) { engine in
            let error = await #expect(throws: TrackingError.self) { _ = try await engine.match(street) }
            #expect(error?.code == code)
            #expect(error?.message.contains("47.14") == false)
        }
    }

    @Test func anAnswerForAnotherPlaceIsAnError() async throws {
        let street = self.street
        let elsewhere = self.matched.replacing(#""lat":47.141046"#, with: #""lat":47.151"#)
        try await withServer(answering: { _ in (.ok, elsewhere) }) { engine in
            let error = await #expect(throws: TrackingError.self) { _ = try await engine.match(street) }
            #expect(error?.code == .engineUnavailable)
        }
    }

    @Test func aHugeAnswerIsAnError() async throws {
        let street = self.street
        let huge = #"{"shape":""# + String(repeating: "x", count: ValhallaEngine.maximumAnswerBytes) + #""}"#
        try await withServer(answering: { _ in (.ok, huge) }) { engine in
            let error = await #expect(throws: TrackingError.self) { _ = try await engine.match(street) }
            #expect(error?.code == .engineUnavailable)
        }
    }

    @Test func anEngineThatDoesNotAnswerIsAnError() async throws {
        let street = self.street
        try await withServer(timeout: .milliseconds(50), answering: { _ in nil }) { engine in
            let error = await #expect(throws: TrackingError.self) { _ = try await engine.match(street) }
            #expect(error?.code == .engineUnavailable)
        }
    }

    @Test func aRouteHasALegForEachStop() async throws {
        let answer = """
            {"trip":{"legs":[{"summary":{"time":125.663,"length":1.622},"shape":"ecg|xAombdQFk@IiBa@qAkAcBs@s@i@W",\
            "maneuvers":[{"time":100.663,"begin_shape_index":0,"end_shape_index":2},\
            {"time":25,"begin_shape_index":2,"end_shape_index":6},{"time":0,"end_shape_index":6}]}]}}
            """
        let places = [(47.1410, 9.5209), (47.1411, 9.5210)].map { Coordinate(latitude: $0.0, longitude: $0.1)! }
        let request = RouteRequest(start: places[0], bearing: 90, stops: [places[1]], profile: .auto)
        try await withServer(answering: { $0.contains(#""heading":90"#) ? (.ok, answer) : (.badRequest, "{}") }) {
            let route = try await $0.route(request)
            #expect(route.legs.map(\.length) == [1622])
            #expect(route.legs[0].duration == .seconds(125.663))
            #expect(route.legs[0].sections.map(\.duration) == [.seconds(100.663), .seconds(25), .zero])
            #expect(route.legs[0].sections.map(\.end) == [2, 6, 6])
        }
        try await withServer(answering: { _ in (.ok, #"{"trip":{"legs":[]}}"#) }) { engine in
            let error = await #expect(throws: TrackingError.self) { _ = try await engine.route(request) }
            #expect(error?.code == .engineUnavailable)
        }
    }

    @Test(arguments: [
        "127.0.0.1:8002", "ftp://127.0.0.1", "http://", "http://user@host", "http://host/path", "http://a b",
    ])
    func anAddressIsHTTPWithAHost(url: String) {
        let error = #expect(throws: TrackingError.self) { _ = try ValhallaEngine(url: url) }
        #expect(error?.code == .invalidConfiguration)
    }
}

/// Runs a server that answers every POST, and passes an engine with its address to `body`. The server never answers a
/// request for which `answer` returns `nil`.
private func withServer(
    timeout: Duration = .seconds(30), answering answer: @escaping @Sendable (String) -> (HTTPResponse.Status, String)?,
    _ body: (ValhallaEngine) async throws -> Void
) async throws {
    let router = Router()
    for path in ["trace_attributes", "route"] {
        router.post(RouterPath(path)) { request, _ in
            let text = String(buffer: try await request.body.collect(upTo: 1_000_000))
            guard let (status, answer) = answer(text) else {
                try await Task.sleep(for: .seconds(3600))
                return Response(status: .ok)
            }
            return Response(status: status, body: ResponseBody(byteBuffer: ByteBuffer(string: answer)))
        }
    }
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let server = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { port.yield($0.localAddress?.port ?? 0) })
    // The server runs until the process ends: NIO ends the process if a server is cancelled while it accepts a connection.
    Task { try await server.run() }
    var iterator = ports.makeAsyncIterator()
    let engine = try ValhallaEngine(
        url: "http://127.0.0.1:\(try #require(await iterator.next()))", timeout: timeout)
    do {
        try await body(engine)
    } catch {
        Issue.record(error)
    }
}
