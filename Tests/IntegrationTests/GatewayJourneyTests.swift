import Foundation
import Synchronization
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// Journeys and estimates through `godwit serve` at a real broker. The test plays the enhancer.
@Suite(.timeLimit(.minutes(10))) struct GatewayJourneyTests {
    private static let body =
        #"{"stops":[{"id":"order-11","name":"Baker Anton","location":[9.5,47.111111],"radius":150},"#
        + #"{"id":"order-22","name":"Cafe Berta","location":[9.5,47.222222],"radius":150},"#
        + #"{"id":"order-33","name":"Dentist Caesar","location":[9.5,47.333333],"radius":150}]}"#
    private static let names = ["Baker Anton", "Cafe Berta", "Dentist Caesar"]
    private static let ids = ["order-11", "order-22", "order-33"]
    private static let latitudes = ["47.111111", "47.222222", "47.333333"]

    /// The estimate of a trackable that has arrived at so many stops. Its way leads to the last stop.
    private static func estimate(arrived: Int, at time: Double) -> Estimate {
        let stops = self.ids.enumerated().map { index, id in
            index < arrived
                ? Estimate.Stop(id: id, eta: UnixTime(time), status: .arrived)
                : Estimate.Stop(
                    id: id, eta: UnixTime(time + 600), earliest: UnixTime(time + 540), latest: UnixTime(time + 660),
                    distance: Meters(8000), status: .enRoute)
        }
        return Estimate(time: UnixTime(time), basis: .route, stops: stops, route: self.way)
    }

    private static let way = stride(from: 47.15, through: 47.33, by: 0.01).map {
        Coordinate(latitude: $0, longitude: 9.5)!  // within the range
    }

    private func publish(_ payload: [UInt8], _ topic: String, _ stage: MapStage) async throws {
        let client = try MQTTClient(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: stage.broker.port)],
                client: try ClientID("enhancer")))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await client.run() }
            defer { group.cancelAll() }
            try await client.publish(OutgoingMessage(topic: topic, payload: payload, isRetained: true))
        }
    }

    private func token(_ name: String, _ rights: [String], _ stage: MapStage) async throws -> [String: String] {
        let token = try await stage.run(["token", "create", "--name", name] + rights)
        return ["Authorization": "Bearer \(token)"]
    }

    /// Opens the live stream of a share link.
    private func link(_ options: [String], _ stage: MapStage) async throws -> EventStream {
        let link = try await stage.run(["share", "van", "--for", "1h", "--yes"] + options)
        let secret = try #require(link.split(separator: "/").last)
        return try await EventStream(
            "/api/v1/live", port: stage.port, headers: ["Authorization": "Bearer \(secret)"])
    }

    /// Returns the text of all events up to and including the first one that matches.
    private func text(
        _ stream: EventStream, until isLast: @escaping @Sendable (ServerSentEvent) -> Bool
    ) async throws -> String {
        let seen = Seen()
        _ = try await stream.first { event in
            seen.add("\(event.id) \(event.name) \(event.data)\n")
            return isLast(event)
        }
        return seen.text
    }

    /// A journey is set over HTTP, retained at the broker, and delivered. Estimates follow. Each link shows its stop.
    @Test func aJourneyReachesPagesAndLinks() async throws {
        let stage = try await MapStage(["--allow-commands"])
        let boss = try await self.token("boss", ["--admin"], stage)
        let path = "/api/v1/trackables/van/journey"
        func request(_ method: String, _ path: String, _ body: String? = nil) async throws -> LoopbackHTTP.Answer {
            try await LoopbackHTTP.request(method, path, port: stage.port, headers: boss, body: body)
        }
        #expect(try await request("PUT", path, Self.body).status == 404, "the gateway does not know the van")
        let now = Date().timeIntervalSince1970
        try await self.publish(
            LocationCodec.encode(
                LocationUpdate(
                    location: Location(
                        coordinate: try #require(Coordinate(latitude: 47.15, longitude: 9.5)), time: UnixTime(now)))),
            "tracking/van", stage)
        let page = try await EventStream("/api/v1/live", port: stage.port, headers: boss)
        _ = try await page.first { $0.name == "position" }

        var made = try await request("PUT", path, Self.body)
        // The connection on which the gateway publishes may begin after that of the live stream.
        try await waitUntil {
            if made.status == 503 { made = try await request("PUT", path, Self.body) }
            return made.status != 503
        }
        #expect(made.status == 201 && made.text == Self.body, "\(made.text)")
        let retained = try await Programs.run("godwit", ["journey", "show", "van", "--broker", stage.broker.url])
        #expect(retained.output.contains("Cafe Berta") && retained.output.contains("order-22"), "\(retained.output)")
        let set = try await page.first { $0.name == "journey" }
        #expect(set.data == "{\"trackable\":\"van\",\"journey\":\(Self.body)}")
        #expect(try await request("GET", path).text == Self.body)
        #expect(try await request("GET", "/api/v1/journeys").text == "{\"journeys\":{\"van\":\(Self.body)}}")

        let links = [
            try await self.link(["--stop", "order-11"], stage), try await self.link(["--stop", "order-22"], stage),
            try await self.link([], stage),
        ]
        let estimate = try MessageCodec.encode(Self.estimate(arrived: 1, at: Date().timeIntervalSince1970))
        let json = String(decoding: estimate, as: UTF8.self)
        try await self.publish(estimate, "tracking/van/estimate", stage)
        #expect(try await page.first { $0.name == "estimate" }.data == "{\"trackable\":\"van\",\"estimate\":\(json)}")
        #expect(try await request("GET", "/api/v1/trackables/van/estimate").text == json)

        for (index, stream) in links.enumerated() {
            let text = try await self.text(stream) { $0.name == "estimate" && $0.data.contains("stopsBefore") }
            #expect(text.contains(Self.names[index]) && text.contains(Self.latitudes[index]), "\(text)")
            #expect(!text.contains(" journey "), "\(text)")
            #expect(text.contains("\"stopsBefore\":\(max(0, index - 1))"), "\(text)")
            #expect(text.contains("\"route\":") == (index == 1), "\(text)")
            let others = [Self.names, Self.ids, Self.latitudes].flatMap { list in
                list.enumerated().filter { $0.offset != index || list == Self.ids }.map(\.element)
            }
            for secret in others { #expect(!text.contains(secret), "\(secret): \(text)") }
            #expect(!text.contains(String(decoding: JSONValue.text(Polyline.encode(Self.way)).json, as: UTF8.self)))
        }

        #expect(try await request("DELETE", path).status == 204)
        #expect(try await page.first { $0.name == "journey" }.data == #"{"trackable":"van","journey":null}"#)
        #expect(try await request("GET", path).status == 404)
        #expect(try await request("DELETE", path).status == 404)
        _ = try await links[1].first { $0.name == "estimate" && $0.data == #"{"trackable":"van","estimate":null}"# }
        let audit = try await stage.run(["audit"])
        #expect(audit.contains("set journey") && audit.contains("clear journey") && !audit.contains("47.1"), "\(audit)")
    }
}

/// The text that a stream has delivered.
private final class Seen: Sendable {
    private let lines = Mutex("")

    var text: String { self.lines.withLock { $0 } }

    func add(_ line: String) { self.lines.withLock { $0 += line } }
}
