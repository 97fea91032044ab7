import HTTPTypes
import Hummingbird
import Testing
import TrackingCore

@testable import TrackingGateway

@Suite struct QueryParametersTests {
    @Test func valuesAreDecodedInTheirOrder() throws {
        let query = try QueryParameters(
            "trackable=1%2C2&b&token=x&tr%61ckable=3", allowing: ["trackable", "trackables", "b"])
        #expect(query["trackable"] == "1,2" && query.all("trackable") == ["1,2", "3"])
        #expect(query["b"] == "" && query["c"] == nil && query.all("trackables") == [])
    }

    @Test(arguments: [
        ("x=1", "'x'"), ("A=1", "'A'"), ("=1", "''"), ("a=%ff", "'a'"), ("a=%2", "'a'"), ("a=1&a=1", "'a'"),
        ("token=x&token=x", "'token'"),
    ])
    func theErrorNamesTheInvalidParameter(_ query: String, _ name: String) {
        let problem = #expect(throws: Problem.self) { try QueryParameters(query[...], allowing: ["a"]) }
        #expect(problem?.status == .badRequest && problem?.detail?.contains(name) == true)
    }

    /// Sends each API route every parameter of its description, and one unknown parameter.
    @Test func everyRouteRefusesUnknownParametersAndTakesTheDescribedOnes() async throws {
        let stage = try await RecordedGateway(["van": 3])
        let token = try await stage.gateway.token(isAdmin: true)
        try await stage.test { client in
            let described = try await client.execute(uri: "/api/v1/openapi.json", method: .get).json
            let routes = (described?["paths"]?.object ?? [:]).filter { $0.key.hasPrefix("/api/v1") }
            #expect(routes.count > 8)
            // The live stream has no end, the quarantine requires an intake, and this gateway has no fence, rule, label
            // or journey, and issues no credentials.
            let others = [
                "/api/v1/credentials", "/api/v1/live", "/api/v1/quarantine", "/api/v1/fences/{name}",
                "/api/v1/rules/{name}",
                "/api/v1/trackables/{id}/label", "/api/v1/trackables/{id}/journey", "/api/v1/trackables/{id}/estimate",
            ]
            for (path, operations) in routes where operations["get"] != nil && !others.contains(path) {
                let uri = path.replacing("{id}", with: "van")
                let unknown = try await client.execute(
                    uri: "\(uri)?colour=red", method: .get, headers: .bearer(token))
                #expect(
                    unknown.status == .badRequest && unknown.json?["detail"]?.text?.contains("'colour'") == true,
                    "\(path)")
                #expect(operations["get"]?["responses"]?["400"] != nil, "\(path)")
                let known = try await client.execute(uri: "\(uri)?token=\(token)", method: .get)
                #expect(known.status == .ok, "\(path): \(known.text)")
                for name in Self.parameters(of: operations["get"], in: described) {
                    let answer = try await client.execute(
                        uri: "\(uri)?\(name)=x", method: .get, headers: .bearer(token))
                    #expect(answer.json?["detail"]?.text?.contains("unknown") != true, "\(path) \(name)")
                }
            }
        }
    }

    /// Returns the names of an operation's query parameters.
    private static func parameters(of operation: JSONValue?, in description: JSONValue?) -> [String] {
        (operation?["parameters"]?.list ?? []).compactMap { parameter in
            let reference = parameter["$ref"]?.text?.split(separator: "/").last.map { String($0) }
            let parameter = reference.flatMap { description?["components"]?["parameters"]?[$0] } ?? parameter
            return parameter["in"]?.text == "query" ? parameter["name"]?.text : nil
        }
    }

    @Test func everyAnswer503SaysWhenToTryAgain() {
        #expect(PhoneAnswer.notTaken(TrackingError(.brokerUnreachable, "away"), by: .other).status == 503)
        let answer = Response(PhoneAnswer.notTaken(TrackingError(.brokerUnreachable, "away"), by: .other))
        #expect(answer.headers[.retryAfter] == "5")
        #expect(Response.json(.object([:]), status: .serviceUnavailable).headers[.retryAfter] == "5")
        #expect(Response.json(.object([:])).headers[.retryAfter] == nil)
    }

    @Test func readinessThatIsMissingSaysWhenToTryAgain() async throws {
        // This gateway has no subscriber.
        let gateway = try TestGateway()
        let away = LiveState(known: { _ in nil }, positions: { [:] }, isConnected: { false })
        try await gateway.test(live: away) { client in
            let answer = try await client.execute(uri: "/readyz", method: .get)
            #expect(answer.status == .serviceUnavailable && answer.headers[.retryAfter] == "5")
        }
    }
}
