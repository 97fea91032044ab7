import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Testing
import TrackingCore

@testable import TrackingGateway

@Suite struct AccessRouteTests {
    @Test func aTokenIsAcceptedInEveryPlace() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token("desk")
        try await gateway.test { client in
            let basic = Data("phone:\(token)".utf8).base64EncodedString()
            for headers in [
                HTTPFields.bearer(token), [.authorization: "bearer \(token)"], [.authorization: "Basic \(basic)"],
                // Overland's OwnTracks mode.
                [.authorization: "Basic \(token):"],
            ] {
                let answer = try await client.execute(uri: "/session", method: .get, headers: headers)
                #expect(
                    answer.status == .ok && answer.json?["name"] == .text("desk") && answer.json?["reads"] == .text("*")
                )
            }
            let query = try await client.execute(uri: "/session?x=1&token=\(token)", method: .get)
            #expect(query.status == .ok)
        }
    }

    @Test func everyInvalidTokenGetsTheSameAnswer() async throws {
        let gateway = try TestGateway()
        let revoked = try await gateway.token("a")
        _ = try await gateway.access.revokeToken("a", now: TestGateway.now)
        let expired = try await gateway.token("b", ends: UnixTime(1))
        let share = try await gateway.access.share(try TrackableID("van"), from: UnixTime(0), for: .seconds(1))
        let valid = try await gateway.token("c")
        let wrong = String(valid.dropLast()) + (valid.last == "A" ? "B" : "A")
        try await gateway.test { client in
            var answers: Set<String> = []
            for token in [revoked, expired, share.text, wrong, "", "gw_", String(repeating: "x", count: 5000)] {
                let answer = try await client.execute(uri: "/session", method: .get, headers: .bearer(token))
                #expect(answer.status == .unauthorized)
                answers.insert("\(answer.headers) \(answer.text)")
            }
            let nothing = try await client.execute(uri: "/session", method: .get)
            answers.insert("\(nothing.headers) \(nothing.text)")
            let odd = try await client.execute(uri: "/session", method: .get, headers: [.authorization: "Basic §"])
            answers.insert("\(odd.headers) \(odd.text)")
            #expect(answers.count == 1, "\(answers)")
            #expect(nothing.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
            #expect(nothing.headers[.contentType] == "application/problem+json")
            #expect(nothing.json?["status"] == .number(401))
        }
    }

    /// The page and its tiles are public. If they counted, a map would use up its own limit for API requests.
    @Test func thePagesFilesCountTowardsNoLimit() async throws {
        let gateway = try TestGateway { $0.requestsPerSecond = 0.2 }
        let token = try await gateway.token()
        try await gateway.test { client in
            let headers = HTTPFields.bearer(token)
            for path in ["/", "/map/app.js", "/map/config", "/tiles/1/0/0"] {
                for _ in 0..<5 {
                    let answer = try await client.execute(uri: path, method: .get, headers: headers)
                    #expect(answer.status == (path.hasPrefix("/tiles") ? .notFound : .ok))
                }
            }
            #expect(try await client.execute(uri: "/session", method: .get, headers: headers).status == .ok)
        }
    }

    @Test func signsInAndOut() async throws {
        let gateway = try TestGateway { $0.brokerPort = BrokerPort(8884, isTLS: true) }
        let token = try await gateway.token("desk", read: ["van", "bus"])
        try await gateway.test { client in
            let body = ByteBuffer(string: #"{"token":"\#(token)"}"#)
            let answer = try await client.execute(uri: "/session", method: .post, body: body)
            #expect(answer.status == .ok && answer.json?["reads"] == .list([.text("bus"), .text("van")]))
            #expect(answer.json?["broker"] == .object(["scheme": .text("mqtts"), "port": .number(8884)]))
            let cookie = try #require(answer.headers[.setCookie])
            #expect(cookie.contains("; HttpOnly; SameSite=Strict") && !cookie.contains("Secure"))
            #expect(!cookie.contains(token))
            let pair = String(cookie.prefix { $0 != ";" })
            let who = try await client.execute(uri: "/session", method: .get, headers: [.cookie: "a=b; \(pair)"])
            #expect(who.status == .ok)
            // A page of another site cannot use the cookie.
            let foreign = try await client.execute(
                uri: "/session", method: .delete, headers: [.cookie: pair, .secFetchSite: "cross-site"])
            #expect(foreign.status == .forbidden)
            // A page of another site cannot sign the user in with another token.
            let given = try await client.execute(
                uri: "/session", method: .post, headers: [.secFetchSite: "cross-site"], body: body)
            #expect(given.status == .forbidden && given.headers[.setCookie] == nil)
            let unknown = try await client.execute(uri: "/session", method: .delete, headers: [.cookie: pair])
            #expect(unknown.status == .forbidden)
            let out = try await client.execute(
                uri: "/session", method: .delete, headers: [.cookie: pair, .origin: "http://localhost"])
            #expect(out.status == .noContent && out.headers[.setCookie]?.contains("Max-Age=0") == true)
            let after = try await client.execute(uri: "/session", method: .get, headers: [.cookie: pair])
            #expect(after.status == .unauthorized)
        }
    }

    /// The address of the demo's map contains such a token, and other people may see the address.
    @Test func aOneTimeTokenBeginsOneSessionAndDoesNothingElse() async throws {
        let gateway = try TestGateway()
        var grant = AccessGrant(name: "demo", reads: .all, begins: UnixTime(0))
        grant.once = .unused
        let token = try await gateway.access.makeToken(grant).text
        try await gateway.test { client in
            for (method, path) in [
                (HTTPRequest.Method.get, "/session"), (.get, "/api/v1/positions"), (.delete, "/session"),
            ] {
                let answer = try await client.execute(uri: path, method: method, headers: .bearer(token))
                #expect(answer.status == .forbidden && answer.text.contains("only sign in"), "\(method) \(path)")
            }
            #expect(try await gateway.access.grants(.token).map(\.once) == [.unused])
            // Several browsers sign in at the same time.
            let body = ByteBuffer(string: #"{"token":"\#(token)"}"#)
            let answers = try await withThrowingTaskGroup(of: RouterClient.Answer.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await client.execute(uri: "/session", method: .post, body: body) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let signedIn = answers.filter { $0.status == .ok }
            #expect(signedIn.count == 1 && answers.filter { $0.status == .unauthorized }.count == 7)
            let cookie = try #require(signedIn.first?.headers[.setCookie]).prefix { $0 != ";" }
            var own: HTTPFields = [.origin: "http://localhost"]
            own[.cookie] = String(cookie)
            let read = try await client.execute(uri: "/api/v1/positions", method: .get, headers: own)
            #expect(read.status == .ok)
            // The session does not begin another one.
            #expect(try await client.execute(uri: "/session", method: .post, headers: own).status == .unauthorized)
            for (method, headers) in [(HTTPRequest.Method.post, HTTPFields.bearer(token)), (.get, .bearer(token))] {
                #expect(
                    try await client.execute(uri: "/session", method: method, headers: headers).status == .unauthorized)
            }
            #expect(try await gateway.access.revokeToken("demo", now: TestGateway.now))
            #expect(try await client.execute(uri: "/session", method: .get, headers: own).status == .unauthorized)
        }
    }

    /// Browsers send no `Sec-Fetch-Site` to a plain HTTP address of another machine, but they do send `Origin`.
    @Test func aPageOfAnotherOriginCannotSignInOrOut() async throws {
        let gateway = try TestGateway { $0.url = "https://tracks.example.org" }
        let token = try await gateway.token()
        let body = ByteBuffer(string: #"{"token":"\#(token)"}"#)
        try await gateway.test { client in
            for origin in ["https://evil.example.org", "http://tracks.example.org.evil.org", "null"] {
                let given = try await client.execute(
                    uri: "/session", method: .post, headers: [.origin: origin], body: body)
                #expect(given.status == .forbidden && given.headers[.setCookie] == nil, "\(origin)")
                let out = try await client.execute(uri: "/session", method: .delete, headers: [.origin: origin])
                #expect(out.status == .forbidden && out.headers[.setCookie] == nil, "\(origin)")
            }
            let own: HTTPFields = [.origin: "https://tracks.example.org"]
            let answer = try await client.execute(uri: "/session", method: .post, headers: own, body: body)
            #expect(answer.status == .ok)
            let cookie = try #require(answer.headers[.setCookie]).prefix { $0 != ";" }
            var fields = own
            fields[.cookie] = String(cookie)
            #expect(try await client.execute(uri: "/session", method: .delete, headers: fields).status == .noContent)
            // Requests of programs have no origin.
            #expect(try await client.execute(uri: "/session", method: .post, body: body).status == .ok)
        }
    }

    @Test func signingInWithAFormAndWithAShareLinkOverTLS() async throws {
        let gateway = try TestGateway { $0.url = "https://tracks.example.org" }
        let now = TestGateway.now
        let share = try await gateway.access.share(try TrackableID("van"), from: now, for: .seconds(7200))
        try await gateway.test { client in
            let answer = try await client.execute(
                uri: "/session", method: .post, headers: [.contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(string: "token=\(share.text)"))
            #expect(answer.status == .ok)
            #expect(answer.json?["to"]?.number == now.advanced(by: .seconds(7200)).seconds)
            let cookie = try #require(answer.headers[.setCookie])
            #expect(cookie.hasSuffix("; Secure"))
            let age = try #require(cookie.firstMatch(of: /Max-Age=(\d+)/).flatMap { Int($0.1) })
            #expect((6600...7200).contains(age))
            for body in ["", "{", #"{"token":5}"#, #"{"token":"gw_x"}"#] {
                let wrong = try await client.execute(uri: "/session", method: .post, body: ByteBuffer(string: body))
                #expect([.badRequest, .unauthorized].contains(wrong.status))
            }
        }
    }

    @Test func everyAnswerProtectsItsReader() async throws {
        let gateway = try TestGateway()
        try await gateway.test { client in
            for (path, status) in [
                ("/healthz", HTTPResponse.Status.ok), ("/session", .unauthorized), ("/no", .notFound),
            ] {
                let answer = try await client.execute(uri: path, method: .get)
                #expect(answer.status == status)
                #expect(answer.headers[.contentSecurityPolicy]?.contains("frame-ancestors 'none'") == true)
                #expect(answer.headers[.xContentTypeOptions] == "nosniff")
                #expect(answer.headers[.referrerPolicy] == "no-referrer")
                #expect(answer.headers[.accessControlAllowOrigin] == nil)
                #expect(answer.headers[.server] == nil)
            }
        }
    }

    @Test func onlyAConfiguredOriginMayReadAnswers() async throws {
        let origin = "https://shop.example.org"
        let gateway = try TestGateway { $0.origins = [origin] }
        let token = try await gateway.token()
        try await gateway.test { client in
            var headers = HTTPFields.bearer(token)
            headers[.origin] = origin
            let answer = try await client.execute(uri: "/session", method: .get, headers: headers)
            #expect(answer.headers[.accessControlAllowOrigin] == origin && answer.headers[.vary] == "Origin")
            #expect(answer.headers[.accessControlAllowCredentials] == nil)
            headers[.origin] = "https://evil.example.org"
            let evil = try await client.execute(uri: "/session", method: .get, headers: headers)
            #expect(evil.headers[.accessControlAllowOrigin] == nil)
            let preflight = try await client.execute(
                uri: "/api/v1/trackables", method: .options,
                headers: [.origin: origin, .accessControlRequestMethod: "GET"])
            #expect(preflight.status == .noContent)
            #expect(preflight.headers[.accessControlAllowHeaders]?.contains("Authorization") == true)
        }
    }

    @Test func requestsBeyondTheLimitAreRejectedForAWhile() async throws {
        let gateway = try TestGateway { $0.rateLimit = RateLimit(burst: 3, perSecond: 0.001) }
        let one = try await gateway.token("one")
        let two = try await gateway.token("two")
        try await gateway.test { client in
            for _ in 0..<3 {
                #expect(try await client.execute(uri: "/session", method: .get, headers: .bearer(one)).status == .ok)
            }
            let answer = try await client.execute(uri: "/session", method: .get, headers: .bearer(one))
            #expect(answer.status == .tooManyRequests && answer.headers[.retryAfter] != nil)
            #expect(try await client.execute(uri: "/session", method: .get, headers: .bearer(two)).status == .ok)
        }
    }

    @Test func wrongTokensAreLimitedAndARightOneIsNot() async throws {
        let gateway = try TestGateway { $0.failureLimit = RateLimit(burst: 3, perSecond: 0.001) }
        let token = try await gateway.token()
        try await gateway.test { client async throws in
            func status(_ token: String) async throws -> HTTPResponse.Status {
                try await client.execute(uri: "/session", method: .get, headers: .bearer(token)).status
            }
            for _ in 0..<3 { #expect(try await status("gw_wrong") == .unauthorized) }
            #expect(try await status("gw_wrong") == .tooManyRequests)
            #expect(try await status(token) == .ok)
        }
    }

    @Test func signingInIsCountedAsAnyRequestIs() async throws {
        let gateway = try TestGateway {
            $0.failureLimit = RateLimit(burst: 3, perSecond: 0.001)
            $0.rateLimit = RateLimit(burst: 2, perSecond: 0.001)
        }
        let token = try await gateway.token()
        try await gateway.test { client async throws in
            func status(_ token: String) async throws -> HTTPResponse.Status {
                let body = ByteBuffer(string: #"{"token":"\#(token)"}"#)
                return try await client.execute(uri: "/session", method: .post, body: body).status
            }
            for wrong in ["gw_wrong", "", String(repeating: "x", count: 3000)] {
                #expect(try await status(wrong) == .unauthorized)
            }
            #expect(try await status("gw_wrong") == .tooManyRequests)
            for _ in 0..<2 { #expect(try await status(token) == .ok) }
            #expect(try await status(token) == .tooManyRequests)
        }
    }

    @Test func overlandIsShownThatItSendsTooMuchOrTooOften() async throws {
        let gateway = try TestGateway {
            $0.maximumBodyBytes = 2000
            $0.rateLimit = RateLimit(burst: 1, perSecond: 0.001)
        }
        let token = try await gateway.token(publish: ["van"])
        try await gateway.test { client in
            func post(_ bytes: Int) async throws -> RouterClient.Answer {
                var headers = HTTPFields.bearer(token)
                headers[.userAgent] = "Overland/1.3 (iPhone; iOS 17.4; Scale/3.00)"
                return try await client.execute(
                    uri: "/overland", method: .post, headers: headers, body: ByteBuffer(repeating: 0x20, count: bytes))
            }
            let large = try await post(2001)
            #expect(large.status == .ok && large.json?["error"]?.text?.contains("2000 bytes") == true)
            _ = try await post(1)
            let often = try await post(1)
            #expect(often.status == .ok && often.json?["error"]?.text?.contains("Too many requests") == true)
            #expect(often.headers[.retryAfter] != nil)
        }
    }

    @Test func aTokenMayHaveLimitsOfItsOwn() async throws {
        let gateway = try TestGateway { $0.rateLimit = RateLimit(burst: 1, perSecond: 0.001) }
        func token(_ name: String, _ limits: TokenLimits) async throws -> String {
            let grant = AccessGrant(
                name: name, publishes: .only([try TrackableID("van")]), limits: limits, begins: UnixTime(0))
            return try await gateway.access.makeToken(grant).text
        }
        let small = try await token("small", TokenLimits(requestsPerSecond: 0.2, bodyBytes: 2000))
        let usual = try await token("usual", TokenLimits())
        try await gateway.test { client in
            func status(_ token: String, _ bytes: Int) async throws -> Int {
                let body = ByteBuffer(string: "[\(String(repeating: " ", count: bytes - 2))]")
                return try await client.execute(
                    uri: "/points", method: .post, headers: .bearer(token), body: body
                ).status.code
            }
            let (large, fitting) = (try await status(small, 2001), try await status(small, 2000))
            // One more request is allowed every five seconds.
            var often = 0
            for _ in 0..<20 where often != 429 { often = try await status(small, 2) }
            #expect((large, fitting != large, often) == (413, true, 429))
            let (usually, again) = (try await status(usual, 2001), try await status(usual, 2))
            #expect((usually != large, again) == (true, 429))
        }
    }

    @Test func aBodyThatIsTooLongIsRefused() async throws {
        let gateway = try TestGateway { $0.maximumBodyBytes = 2000 }
        try await gateway.test { client in
            let answer = try await client.execute(
                uri: "/session", method: .post, body: ByteBuffer(repeating: 0x20, count: 2001))
            #expect(answer.status == .contentTooLarge)
            #expect(answer.json?["status"] == .number(413))
        }
    }
}
