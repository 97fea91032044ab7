import HTTPTypes
import Hummingbird
import Testing
import TrackingCore

@testable import TrackingGateway
@testable import TrackingRules

/// Fences and rules, as the API shows them.
@Suite struct RuleRouteTests {
    /// A gateway with a fence and a rule for all, for two groups, and for a trackable.
    private func stage() async throws -> (TestGateway, TrackableID) {
        let gateway = try TestGateway()
        let rules = RuleStore(try GatewayDatabase(at: gateway.configuration.database))
        let (van, bus) = (try TrackableID("van"), try TrackableID("bus"))
        let center = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
        try await rules.add(Fence(name: "depot", shape: .circle(center: center, radius: Meters(200))))
        let square = #"{"type":"Polygon","coordinates":[[[0,0],[0.01,0],[0.01,0.01],[0,0.01],[0,0]]]}"#
        for name in ["yard", "home"] { try await rules.add(Fence(name: name, json: try JSONValue(json: square.utf8))) }
        _ = try await rules.setLabel(of: van, ["group=north", "group=all"])
        _ = try await rules.setLabel(of: bus, ["group=all"])
        try await rules.add(RuleDefinition(name: "both", .enter(fence: "yard"), groups: ["all"]))
        try await rules.add(RuleDefinition(name: "every", .lowBattery(below: 20)))
        try await rules.add(RuleDefinition(name: "nobody", .leave(fence: "yard"), groups: ["none"]))
        try await rules.add(RuleDefinition(name: "north", .dwell(fence: "depot", seconds: 600), groups: ["north"]))
        try await rules.add(RuleDefinition(name: "one", .silent(seconds: 60), trackables: [van]))
        return (gateway, van)
    }

    @Test func aTokenForEverythingSeesAllRules() async throws {
        let (gateway, _) = try await self.stage()
        let token = try await gateway.token()
        try await gateway.test { client in
            let fences = try await client.execute(uri: "/api/v1/fences", method: .get, headers: .bearer(token))
            #expect(fences.status == .ok && fences.headers[.contentType] == "application/geo+json")
            let features = try #require(fences.json?["features"]?.list)
            #expect(features.map { $0["id"]?.text } == ["depot", "home", "yard"])
            #expect(features[0]["geometry"]?["type"] == .text("Point"))
            #expect(features[0]["geometry"]?["coordinates"] == .list([.number(-8.63), .number(52.66)]))
            #expect(features[0]["properties"] == .object(["name": .text("depot"), "radius": .number(200)]))
            #expect(features[2]["geometry"]?["type"] == .text("MultiPolygon"))
            let rules = try await client.execute(uri: "/api/v1/rules", method: .get, headers: .bearer(token))
            let list = try #require(rules.json?["rules"]?.list)
            #expect(list.map { $0["name"]?.text } == ["both", "every", "nobody", "north", "one"])
            #expect(list[3]["when"] == .text("dwell") && list[3]["fence"] == .text("depot"))
            var headers = HTTPFields.bearer(token)
            headers[.ifNoneMatch] = rules.headers[.eTag]
            #expect(
                try await client.execute(uri: "/api/v1/rules", method: .get, headers: headers).status == .notModified)
        }
    }

    /// A rule for several trackables shows neither the other trackables nor their places.
    @Test func othersKnowWhatIsAboutTheirOwnAlone() async throws {
        let (gateway, van) = try await self.stage()
        let token = try await gateway.token("driver", read: ["van"])
        let phone = try await gateway.token("phone", publish: ["van"], read: [])
        let link = try await gateway.access.share(van, from: UnixTime(0), for: .seconds(1e10)).text
        try await gateway.test { client async throws in
            func get(_ path: String, _ token: String) async throws -> RouterClient.Answer {
                try await client.execute(uri: "/api/v1/\(path)", method: .get, headers: .bearer(token))
            }
            let rules = try await get("rules", token).json?["rules"]?.list
            #expect(rules?.map { $0["name"]?.text } == ["north", "one"])
            #expect(try await get("fences", token).json?["features"]?.list?.map { $0["id"]?.text } == ["depot"])
            #expect(try await get("rules", phone).json?["rules"] == .list([]))
            for path in ["rules", "fences"] {
                #expect(try await get(path, link).status == .forbidden)
                #expect(try await client.execute(uri: "/api/v1/\(path)", method: .get).status == .unauthorized)
            }
        }
    }
}
