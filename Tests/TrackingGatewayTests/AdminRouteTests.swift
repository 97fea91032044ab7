import HTTPTypes
import Hummingbird
import NIOCore
import Testing
import TrackingCore

@testable import TrackingGateway
@testable import TrackingRules

/// The routes with which administrators change fences, rules, labels and share links.
@Suite struct AdminRouteTests {
    private static let circle =
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.63,52.66]},"properties":{"radius":150}}"#
    private static let square =
        #"{"type":"Polygon","coordinates":[[[0,0],[0.01,0],[0.01,0.01],[0,0.01],[0,0]]]}"#

    /// A gateway that knows `van`.
    private struct Stage: Sendable {
        let gateway: TestGateway
        let admin: String
        let live: LiveState

        init(_ change: (inout GatewayConfiguration) -> Void = { _ in }) async throws {
            self.gateway = try TestGateway(change)
            self.admin = try await self.gateway.token("boss", isAdmin: true)
            self.live = LiveState(
                known: { $0.rawValue == "van" ? .init() : nil }, positions: { [:] }, isConnected: { true })
        }

        func test(_ body: @escaping @Sendable (Client) async throws -> Void) async throws {
            let admin = self.admin
            try await self.gateway.test(live: self.live) { try await body(Client(client: $0, token: admin)) }
        }

        func audit() async throws -> [AuditLog.Entry] {
            try await AuditLog(try GatewayDatabase(at: self.gateway.configuration.database)).entries()
        }
    }

    /// A client of the API.
    private struct Client: Sendable {
        let client: RouterClient
        let token: String

        func callAsFunction(
            _ method: HTTPRequest.Method, _ path: String, _ body: String = "", _ more: HTTPFields = [:],
            token: String? = nil
        ) async throws -> RouterClient.Answer {
            var headers = HTTPFields.bearer(token ?? self.token)
            for field in more { headers[field.name] = field.value }
            return try await self.client.execute(
                uri: "/api/v1/\(path)", method: method, headers: headers, body: ByteBuffer(string: body))
        }
    }

    @Test func aFenceIsStoredAsItIsRead() async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            let made = try await ask(.put, "fences/the%20depot", Self.circle)
            #expect(made.status == .created && made.headers[.contentType] == "application/geo+json")
            let read = try await ask(.get, "fences/the%20depot")
            #expect(read.body == made.body && read.headers[.eTag] == made.headers[.eTag])
            #expect(read.json?["properties"] == .object(["name": .text("the depot"), "radius": .number(150)]))
            // The answer is a valid body.
            #expect(try await ask(.put, "fences/the%20depot", read.text).status == .ok)
            #expect(try await ask(.put, "fences/yard", Self.square).status == .created)
            #expect(
                try await ask(.get, "fences").json?["features"]?.list?.map { $0["id"]?.text } == ["the depot", "yard"])
            #expect(try await ask(.delete, "fences/yard").status == .noContent)
            #expect(try await ask(.delete, "fences/yard").status == .notFound)
            #expect(try await ask(.get, "fences/yard").status == .notFound)
        }
    }

    @Test(arguments: [
        "", "{", "[]", #"{"type":"Point","coordinates":[1,2]}"#,
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{}}"#,
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"radius":1}}"#,
    ])
    func anInvalidFenceIsRejectedWithTheCause(_ body: String) async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            let answer = try await ask(.put, "fences/depot", body)
            #expect(answer.status == .badRequest && answer.json?["detail"]?.text?.isEmpty == false)
            let large = try await ask(.put, "fences/depot", String(repeating: " ", count: 131_073))
            #expect(large.status == .contentTooLarge)
            #expect(
                try await ask(.put, "fences/\(String(repeating: "a", count: 65))", Self.circle).status == .badRequest)
            #expect(try await ask(.put, "fences/depot?x=1", Self.circle).status == .badRequest)
            #expect(try await ask(.get, "fences").json?["features"] == .list([]))
        }
        #expect(try await stage.audit().map(\.action) == ["create token"])
    }

    /// Two administrators who read the same fence do not overwrite each other's change.
    @Test func aChangeOfAnOldStateIsRefused() async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            let made = try await ask(.put, "fences/depot", Self.circle, [.ifNoneMatch: "*"])
            let tag = try #require(made.headers[.eTag])
            #expect(made.status == .created)
            #expect(try await ask(.put, "fences/depot", Self.square, [.ifNoneMatch: "*"]).status == .preconditionFailed)
            let changed = try await ask(.put, "fences/depot", Self.square, [.ifMatch: tag])
            #expect(changed.status == .ok && changed.headers[.eTag] != tag)
            for (method, body) in [(HTTPRequest.Method.put, Self.circle), (.delete, "")] {
                let late = try await ask(method, "fences/depot", body, [.ifMatch: tag])
                #expect(late.status == .preconditionFailed)
            }
            #expect(try await ask(.put, "fences/other", Self.circle, [.ifMatch: "*"]).status == .preconditionFailed)
            #expect(try await ask(.get, "fences/depot").body == changed.body)
            let present = try #require(changed.headers[.eTag])
            #expect(try await ask(.delete, "fences/depot", "", [.ifMatch: "\"x\", \(present)"]).status == .noContent)
        }
        #expect(try await stage.audit().map(\.action).suffix(3) == ["set fence", "set fence", "remove fence"])
    }

    @Test func theConditionOfAnObjectThatIsMissingSaysSo() async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            for (path, body) in [
                ("fences/depot", Self.circle), ("rules/r", #"{"when":"arrived"}"#),
                ("trackables/van/label", #"{"name":"Van"}"#),
            ] {
                for method in [HTTPRequest.Method.put, .delete] {
                    let answer = try await ask(method, path, body, [.ifMatch: "*"])
                    #expect(answer.status == .preconditionFailed)
                    #expect(answer.json?["detail"]?.text?.contains("does not exist") == true, "\(answer.text)")
                }
            }
        }
    }

    @Test func aRuleNeedsItsFenceAndKeepsIt() async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            let rule = #"{"when":"enter","fence":"depot","trackables":["van"]}"#
            let early = try await ask(.put, "rules/in", rule)
            #expect(early.status == .badRequest && early.text.contains("no fence 'depot'"))
            _ = try await ask(.put, "fences/depot", Self.circle)
            let made = try await ask(.put, "rules/in", rule)
            #expect(
                made.status == .created && made.json?["name"] == .text("in") && made.json?["when"] == .text("enter"))
            #expect(try await ask(.get, "rules/in").headers[.eTag] == made.headers[.eTag])
            let used = try await ask(.delete, "fences/depot")
            #expect(used.status == .conflict && used.text.contains("rule 'in'"))
            let old = try await ask(.put, "rules/in", rule, [.ifMatch: "\"old\""])
            #expect(old.status == .preconditionFailed)
            #expect(try await ask(.put, "rules/in", #"{"when":"sometimes"}"#).status == .badRequest)
            #expect(try await ask(.delete, "rules/in").status == .noContent)
            #expect(try await ask(.delete, "rules/in").status == .notFound)
            #expect(try await ask(.delete, "fences/depot").status == .noContent)
        }
    }

    /// A rule without trackables and groups is a rule for all trackables, so neither may be ignored.
    @Test(arguments: [
        (#""trackables":"ph1""#, "trackables"), (#""trackables":[5]"#, "trackables"),
        (#""groups":"north""#, "groups"), (#""groups":[5]"#, "groups"), (#""groups":{}"#, "groups"),
        (#""trackable":["ph1"]"#, "trackable"), (#""seconds":5"#, "seconds"),
    ])
    func aRuleWithAWrongMemberIsRefused(_ member: String, _ name: String) async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            let answer = try await ask(.put, "rules/a", #"{"when":"speed","limit":1,\#(member)}"#)
            #expect(answer.status == .badRequest)
            #expect(answer.json?["detail"]?.text?.contains("its member \"\(name)\"") == true, "\(answer.text)")
            #expect(try await ask(.get, "rules").json?["rules"] == .list([]))
            // The answer of GET is a valid body.
            let body = #"{"name":"b","when":"speed","limit":1,"trackables":["ph1"],"groups":["north"]}"#
            #expect(try await ask(.put, "rules/a", body).status == .created)
        }
    }

    @Test func aTrackableIsNamedAndPutIntoGroups() async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            #expect(try await ask(.get, "trackables/van/label").status == .notFound)
            let made = try await ask(
                .put, "trackables/van/label", #"{"name":"Van 7","icon":"🚐","groups":["north"]}"#)
            #expect(made.status == .created && made.json?["name"] == .text("Van 7"))
            let tag = try #require(made.headers[.eTag])
            #expect(try await ask(.get, "trackables/van/label").headers[.eTag] == tag)
            let joined = try await ask(.put, "trackables/van/groups/big%20ones")
            #expect(joined.status == .ok && joined.json?["groups"] == .list([.text("big ones"), .text("north")]))
            #expect(try await ask(.put, "trackables/van/label", "{}", [.ifMatch: tag]).status == .preconditionFailed)
            #expect(try await ask(.delete, "trackables/van/groups/north").status == .noContent)
            #expect(try await ask(.delete, "trackables/van/groups/north").status == .notFound)
            #expect(try await ask(.get, "trackables/van").json?["groups"] == .list([.text("big ones")]))
            for wrong in [#"{"name":5}"#, #"{"icon":"a bus"}"#, #"{"groups":["a",1]}"#, #"{"groups":[""]}"#, "[]"] {
                #expect(try await ask(.put, "trackables/van/label", wrong).status == .badRequest, "\(wrong)")
            }
            #expect(try await ask(.delete, "trackables/van/label").status == .noContent)
            #expect(try await ask(.delete, "trackables/van/label").status == .notFound)
            #expect(try await ask(.put, "trackables/vna/label", #"{"name":"Van"}"#).status == .notFound)
            #expect(try await ask(.put, "trackables/vna/groups/north").status == .notFound)
        }
    }

    @Test func aShareLinkIsShownOnceAndRevoked() async throws {
        let stage = try await Stage { $0.url = "https://tracks.example.org" }
        try await stage.test { ask in
            let made = try await ask(.post, "shares", #"{"trackable":"van","for":"2h"}"#)
            #expect(made.status == .created && made.json?["state"] == .text("valid"))
            let url = try #require(made.json?["url"]?.text)
            #expect(url.hasPrefix("https://tracks.example.org/s/gs_"))
            let secret = String(url.dropFirst("https://tracks.example.org/s/".count))
            #expect(try await ask(.get, "trackables/van", token: secret).status == .ok)
            let number = try #require(made.json?["number"]?.count)
            _ = try await ask(.post, "shares", #"{"trackable":"van","for":"1h"}"#)
            let list = try await ask(.get, "shares?trackable=van&limit=1")
            #expect(list.json?["shares"]?.list?.count == 1 && list.json?["next"]?.count == number + 1)
            #expect(!list.text.contains("gs_"))
            let rest = try await ask(.get, "shares?trackable=van&before=\(number + 1)").json
            #expect(rest?["shares"]?.list?.map { $0["number"]?.count } == [number] && rest?["next"] == nil)
            #expect(try await ask(.get, "shares?trackable=bus").json?["shares"] == .list([]))
            #expect(try await ask(.delete, "shares/\(number)").status == .noContent)
            #expect(try await ask(.delete, "shares/\(number)").status == .notFound)
            #expect(try await ask(.delete, "shares/x").status == .badRequest)
            #expect(try await ask(.get, "trackables/van", token: secret).status == .unauthorized)
            #expect(try await ask(.post, "shares", #"{"trackable":"vna","for":"2h"}"#).status == .notFound)
            for wrong in [#"{"trackable":"van"}"#, #"{"trackable":"van","for":"soon"}"#, #"{"for":"2h"}"#] {
                #expect(try await ask(.post, "shares", wrong).status == .badRequest, "\(wrong)")
            }
        }
        let audit = try await stage.audit()
        #expect(audit.map(\.action).suffix(3) == ["create share link", "create share link", "revoke share link"])
        #expect(audit.last?.object == "2 of van" && audit.last?.actor.name == "boss" && audit.last?.actor.token == 1)
        #expect(!"\(audit)".contains("gs_"))
    }

    /// A misspelled member would otherwise have no effect, or erase a part of the object.
    @Test(arguments: [
        (HTTPRequest.Method.put, "trackables/van/label", #"{"nmae":"x"}"#, "nmae"),
        (.post, "shares", #"{"trackable":"van","for":"1h","sotp":"4711"}"#, "sotp"),
    ])
    func anUnknownMemberIsRefused(
        _ method: HTTPRequest.Method, _ path: String, _ body: String, _ name: String
    ) async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            let made = try await ask(.put, "trackables/van/label", #"{"id":"van","name":"Van","groups":["north"]}"#)
            #expect(made.status == .created)
            let answer = try await ask(method, path, body)
            #expect(answer.status == .badRequest)
            #expect(answer.json?["detail"]?.text?.contains("its member \"\(name)\"") == true, "\(answer.text)")
            #expect(try await ask(.get, "trackables/van/label").body == made.body)
            #expect(try await ask(.get, "shares").json?["shares"] == .list([]))
        }
    }

    @Test func othersChangeNothing() async throws {
        let stage = try await Stage()
        let reader = try await stage.gateway.token("desk")
        let link = try await stage.gateway.access.share(
            try TrackableID("van"), from: UnixTime(0), for: .seconds(1e10)
        ).text
        let before = try await stage.audit()
        try await stage.test { ask in
            let changes: [(HTTPRequest.Method, String, String)] = [
                (.put, "fences/depot", Self.circle), (.delete, "fences/depot", ""),
                (.put, "rules/r", #"{"when":"arrived"}"#), (.delete, "rules/r", ""),
                (.put, "trackables/van/label", #"{"name":"Van"}"#), (.delete, "trackables/van/label", ""),
                (.put, "trackables/van/groups/north", ""), (.delete, "trackables/van/groups/north", ""),
                (.get, "shares", ""), (.post, "shares", #"{"trackable":"van","for":"2h"}"#), (.delete, "shares/1", ""),
                (.post, "trackables/van/commands", #"{"command":"report"}"#),
            ]
            for (method, path, body) in changes {
                for token in [reader, link] {
                    #expect(try await ask(method, path, body, token: token).status == .forbidden, "\(method) \(path)")
                }
                let nobody = try await ask.client.execute(
                    uri: "/api/v1/\(path)", method: method, body: ByteBuffer(string: body))
                #expect(nobody.status == .unauthorized, "\(method) \(path)")
            }
        }
        #expect(try await stage.audit() == before)
    }

    /// The cookie of a signed-in administrator gives another site no power; a token does not come by itself.
    @Test func aPageOfAnotherOriginChangesNothing() async throws {
        let stage = try await Stage { $0.url = "https://tracks.example.org" }
        try await stage.test { ask in
            let signedIn = try await ask.client.execute(
                uri: "/session", method: .post, body: ByteBuffer(string: #"{"token":"\#(ask.token)"}"#))
            let cookie = String(try #require(signedIn.headers[.setCookie]).prefix { $0 != ";" })
            func put(_ headers: HTTPFields) async throws -> HTTPResponse.Status {
                var headers = headers
                if headers[.authorization] == nil { headers[.cookie] = cookie }
                return try await ask.client.execute(
                    uri: "/api/v1/fences/depot", method: .put, headers: headers, body: ByteBuffer(string: Self.circle)
                ).status
            }
            #expect(try await put([.secFetchSite: "cross-site"]) == .forbidden)
            #expect(try await put([.secFetchSite: "same-site"]) == .forbidden)
            #expect(try await put([.origin: "https://evil.example.org"]) == .forbidden)
            #expect(try await put([.origin: "null"]) == .forbidden)
            #expect(try await put([:]) == .forbidden)
            #expect(try await put([.secFetchSite: "none"]) == .forbidden)
            #expect(try await put([.origin: "https://tracks.example.org", .secFetchSite: "same-origin"]) == .created)
            #expect(try await put([.secFetchSite: "same-origin"]) == .ok)
            var other = HTTPFields.bearer(ask.token)
            other[.origin] = "https://evil.example.org"
            #expect(try await put(other) == .ok)
        }
    }

    @Test func commandsNeedThePermissionOfTheOperator() async throws {
        let stage = try await Stage()
        try await stage.test { ask in
            let answer = try await ask(.post, "trackables/van/commands", #"{"command":"report"}"#)
            #expect(answer.status == .forbidden && answer.text.contains("--allow-commands"))
        }
    }
}
