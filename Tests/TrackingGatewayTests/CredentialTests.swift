import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization
import Testing
import TrackingCore
import TrackingCrypto

@testable import TrackingGateway
@testable import TrackingRules

/// The rights, the lifetime and the routes of the credentials of apps.
@Suite(.timeLimit(.minutes(1))) struct CredentialTests {
    private static let start = UnixTime(1_790_000_000.25)

    private static func grants(_ ids: [String]) throws -> WatcherGrants {
        WatcherGrants(of: try ClientID("app-1"), watching: try ids.map { try TrackableID($0) }, root: .standard)
    }

    // MARK: - Rights

    /// The app reads the same topics as a watcher that broker/add-watcher adds, and writes under its own name only.
    @Test func theRightsAreThoseOfAWatcher() throws {
        let grants = try Self.grants(["order:17"])
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../broker/common.sh")
        let script = try String(contentsOf: file, encoding: .utf8)
        let list = try #require(script.firstMatch(of: #/readable_topics='([^']*)'/#)).1.split(separator: " ")
        #expect(
            Set(grants.reads)
                == Set(list.map { "tracking/order=3A17/\($0)" } + ["tracking/order=3A17", "tracking/_clients/+"]))
        #expect(
            grants.writes == [
                "tracking/order=3A17/subscriber/app-1", "tracking/order=3A17/request/app-1", "tracking/_clients/app-1",
            ])
    }

    @Test func theScopesOfATokenAreTheRights() throws {
        let tokens = try CredentialTokens(key: Array("0123456789abcdef0123456789abcdef".utf8), management: nil)
        let token = try tokens.token(Self.grants(["order:17"]), begins: Self.start, ends: UnixTime(1_790_003_601))
        #expect(JSONWebToken.expiry(of: token) == UnixTime(1_790_003_601))
        let parts = token.utf8.split(separator: UInt8(ascii: "."))
        let claims = try JSONValue(json: try #require(JSONWebToken.decoded(parts[1])))
        let scopes = try #require(claims["scope"]?.list).compactMap(\.text)
        #expect(claims["sub"] == .text("app-1") && claims["aud"] == .list([.text("rabbitmq")]))
        #expect(scopes.contains("rabbitmq.read:%2F/amq.topic/tracking.order=3A17"))
        #expect(scopes.contains("rabbitmq.read:%2F/amq.topic/tracking.order=3A17.publisher.*"))
        #expect(scopes.contains("rabbitmq.write:%2F/amq.topic/tracking._clients.app-1"))
        #expect(scopes.contains("rabbitmq.configure:%2F/mqtt-subscription-app-1qos*"))
        #expect(scopes.count == 3 + 14 + 3 && !scopes.contains { $0.contains("command") || $0.contains("#") })
        let signed = Array(token.utf8.prefix(parts[0].count + 1 + parts[1].count))
        let code = SHA256.authenticationCode(for: signed, key: Array("0123456789abcdef0123456789abcdef".utf8))
        #expect(Base64URL.text(code) == String(Substring(parts[2])))
    }

    /// A token that a client could not read is not issued.
    @Test func aTokenHasALimitOfBytes() throws {
        let tokens = try CredentialTokens(key: Array(repeating: 1, count: 32), management: nil)
        let long = (0..<20).map { String(repeating: "/", count: 126) + String($0 + 10) }
        #expect { try tokens.token(Self.grants(long), begins: Self.start, ends: Self.start) } throws: {
            ($0 as? TrackingError)?.code == .payloadTooLarge
        }
        #expect(throws: TrackingError.self) { try CredentialTokens(key: [1], management: nil) }
    }

    @Test(arguments: [
        ("http://admin@127.0.0.1:15672", true), ("https://me@rabbit.example.org/", true), ("http://[::1]:1", false),
        ("http://a:b@host", false), ("mqtt://a@host", false), ("http://a@host/path", false),
    ])
    func theAddressOfTheManagementNamesAUser(address: String, isValid: Bool) {
        let management = try? BrokerManagement(address) { () throws(TrackingError) in "" }
        #expect((management != nil) == isValid)
    }

    /// Many revoked tokens do not delay each other: the management answers once 8 requests have arrived.
    @Test func theConnectionsOfManyUsersAreClosedAtTheSameTime() async throws {
        let users = Mutex<Set<String>>([])
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        let answering = Task { for await _ in arrivals where users.withLock({ $0.count }) >= 8 { return } }
        let router = Router()
        router.delete("api/connections/username/:user") { request, context -> HTTPResponse.Status in
            let user = context.parameters.get("user") ?? ""
            _ = users.withLock { $0.insert(user) }
            arrival.yield()
            await answering.value
            return user == "app-39" ? .internalServerError : .noContent
        }
        let ids = try (10..<38).map { try ClientID("app-\($0)") }
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let server = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) },
            logger: Logger(label: "management") { _ in SwiftLogNoOpLogHandler() })
        let serving = Task { try await server.run() }
        var iterator = ports.makeAsyncIterator()
        let management = try BrokerManagement("http://admin@127.0.0.1:\(try #require(await iterator.next()))") {
            () throws(TrackingError) in "secret"
        }
        try await management.closeConnections(of: ids)
        #expect(users.withLock { $0 } == Set(ids.map(\.description)))
        let error = await #expect(throws: TrackingError.self) {
            try await management.closeConnections(of: [try ClientID("app-39")])
        }
        #expect(error?.code == .brokerUnreachable)
        serving.cancel()
        _ = try? await serving.value
    }

    // MARK: - Lifetime

    @Test func aCredentialIsWithdrawnWhenItEnds() throws {
        var credential = AppCredential(
            id: try ClientID("app-1"), kind: .dynamicSecurity, reads: [], begins: Self.start, for: .seconds(60))
        let end = UnixTime(1_790_000_061)
        #expect(credential.ends == end)
        #expect(credential.work(at: Self.start) == .none(until: end) && credential.state(at: Self.start) == .valid)
        #expect(credential.work(at: end) == .withdraw && credential.state(at: end) == .expired)
        credential.revoked = Self.start
        #expect(credential.work(at: Self.start) == .withdraw && credential.state(at: end) == .revoked)
        credential.withdrawn = Self.start
        #expect(credential.work(at: end) == .none(until: nil))
    }

    /// The broker accepts a revoked token until it expires, so its connections are closed again and again.
    @Test func theConnectionsOfATokenAreClosedUntilItExpires() throws {
        var credential = AppCredential(
            id: try ClientID("app-1"), kind: .token, reads: [], begins: Self.start, for: .seconds(60))
        credential.revoked = Self.start
        let again = UnixTime(Self.start.seconds + 1)
        #expect(credential.work(at: Self.start) == .closeConnections(again: again))
        #expect(credential.work(at: UnixTime(1_790_000_062)) == .closeConnections(again: UnixTime(1_790_000_063)))
        #expect(credential.work(at: UnixTime(1_790_000_063)) == .withdraw)
    }

    @Test(
        arguments: [([], 60), (["a"], 0), (["a"], 86_401), (Array(repeating: "a", count: 21), 60), ([""], 60)]
            as [([String], Int)])
    func aRequestHasLimits(reads: [String], seconds: Int) {
        #expect(throws: TrackingError.self) { try CredentialRequest(reads: reads, for: .seconds(seconds)) }
    }

    // MARK: - The plugin

    @Test func theErrorsOfThePluginAreReported() throws {
        let answer = Array(#"{"responses":[{"command":"deleteClient","error":"Client not found"}]}"#.utf8)
        try DynamicSecurity.check(answer, count: 1, accepting: ["Client not found"])
        for (count, accepted) in [(1, []), (2, ["Client not found"])] as [(Int, Set<String>)] {
            #expect { try DynamicSecurity.check(answer, count: count, accepting: accepted) } throws: {
                ($0 as? TrackingError)?.code == .notAuthorized
            }
        }
    }

    /// A broker with the plugin, which answers every command, or fails.
    private final class Plugin: Sendable {
        let commands = Mutex<[JSONValue]>([])
        let failure = Mutex<TrackingError?>(nil)

        var issuer: CredentialIssuer {
            .dynamicSecurity(
                DynamicSecurity { (request) async throws(TrackingError) in
                    if let failure = self.failure.withLock({ $0 }) { throw failure }
                    let commands = (try? JSONValue(json: request))?["commands"]?.list ?? []
                    self.commands.withLock { $0 += commands }
                    return JSONValue.object([
                        "responses": .list(commands.map { .object(["command": $0["command"] ?? .text("")]) })
                    ]).json
                })
        }

        var names: [String] { self.commands.withLock { $0.compactMap { $0["command"]?.text } } }
    }

    private static let path = "/api/v1/credentials"

    private func ask(
        _ client: RouterClient, _ method: HTTPRequest.Method, _ token: String, _ body: String = "",
        id: String = ""
    ) async throws -> RouterClient.Answer {
        try await client.execute(
            uri: Self.path + (id.isEmpty ? "" : "/\(id)"), method: method, headers: .bearer(token),
            body: ByteBuffer(string: body))
    }

    @Test func anAdministratorIssuesListsAndRevokes() async throws {
        let plugin = Plugin()
        let gateway = try TestGateway { $0.credentials = plugin.issuer }
        let token = try await gateway.token("boss", isAdmin: true)
        try await gateway.test { (client: RouterClient) async throws in
            let made = try await self.ask(client, .post, token, #"{"read":["order-17","a"],"for":3600}"#)
            #expect(made.status == .created && made.headers[.cacheControl] == "no-store", "\(made.text)")
            let id = try #require(made.json?["id"]?.text)
            let password = try #require(made.json?["password"]?.text)
            #expect(made.json?["username"] == .text(id) && made.json?["clientID"] == .text(id) && password.count >= 43)
            #expect(made.json?["read"] == .list([.text("a"), .text("order-17")]))
            #expect(plugin.names == ["createRole", "createClient"])
            let list = try await self.ask(client, .get, token)
            let first = try #require(list.json?["credentials"]?.list?.first)
            #expect(first["id"] == .text(id) && first["state"] == .text("valid") && !list.text.contains(password))
            #expect(try await self.ask(client, .delete, token, id: id).status == .noContent)
            #expect(Array(plugin.names.suffix(2)) == ["deleteClient", "deleteRole"])
            #expect(try await self.ask(client, .delete, token, id: id).status == .notFound)
            let audit = try await AuditLog(try GatewayDatabase(at: gateway.configuration.database)).entries()
            #expect(audit.map(\.action) == ["create token", "issue credential", "revoke credential"])
            #expect(audit.dropFirst().allSatisfy { $0.object == "\(id) of a, order-17" && $0.actor.name == "boss" })
        }
    }

    @Test func nobodyIssuesMoreThanItMayRead() async throws {
        let plugin = Plugin()
        let gateway = try TestGateway { $0.credentials = plugin.issuer }
        let reader = try await gateway.token("reader")
        let narrow = try await gateway.token("narrow", read: ["a"], isAdmin: true)
        try await gateway.test { (client: RouterClient) async throws in
            let body = #"{"read":["a","b"],"for":"1h"}"#
            #expect(try await self.ask(client, .post, reader, body).status == .forbidden)
            #expect(try await self.ask(client, .get, reader).status == .forbidden)
            #expect(try await self.ask(client, .delete, reader, id: "app-1").status == .forbidden)
            #expect(try await self.ask(client, .post, narrow, body).status == .forbidden)
            #expect(plugin.names.isEmpty)
            #expect(try await self.ask(client, .post, narrow, #"{"read":["a"],"for":"1h"}"#).status == .created)
        }
    }

    @Test(arguments: [
        "", "[]", #"{"read":["a"]}"#, #"{"read":[],"for":60}"#, #"{"read":["a",1],"for":60}"#,
        #"{"read":"a","for":60}"#, #"{"read":["a"],"for":0}"#, #"{"read":["a"],"for":1.5}"#,
        #"{"read":["a"],"for":"25h"}"#, #"{"read":["a"],"for":-1}"#, #"{"read":["a"],"for":60,"reed":["b"]}"#,
    ])
    func anInvalidRequestIsRejectedWithTheForm(body: String) async throws {
        let plugin = Plugin()
        let gateway = try TestGateway { $0.credentials = plugin.issuer }
        let token = try await gateway.token("boss", isAdmin: true)
        try await gateway.test { (client: RouterClient) async throws in
            let answer = try await self.ask(client, .post, token, body)
            #expect(answer.status == .badRequest && answer.json?["detail"]?.text?.isEmpty == false)
            let large = String(repeating: " ", count: 16_385)
            #expect(try await self.ask(client, .post, token, large).status == .contentTooLarge)
        }
        #expect(plugin.names.isEmpty)
    }

    @Test func aGatewayWithoutAnIssuerSaysSo() async throws {
        let gateway = try TestGateway()
        let token = try await gateway.token("boss", isAdmin: true)
        try await gateway.test { (client: RouterClient) async throws in
            let answer = try await self.ask(client, .post, token, #"{"read":["a"],"for":60}"#)
            #expect(answer.status == .forbidden && answer.text.contains("--credential-issuer"))
        }
    }

    /// A credential whose creation failed may exist at the broker. It counts as revoked, and is withdrawn.
    @Test func aFailedCredentialIsWithdrawn() async throws {
        let plugin = Plugin()
        let gateway = try TestGateway { $0.credentials = plugin.issuer }
        let token = try await gateway.token("boss", isAdmin: true)
        try await gateway.test { (client: RouterClient) async throws in
            for (code, status) in [(TrackingError.Code.notAuthorized, 502), (.brokerUnreachable, 503)] {
                plugin.failure.withLock { $0 = TrackingError(code, "the broker is busy") }
                let answer = try await self.ask(client, .post, token, #"{"read":["a"],"for":60}"#)
                #expect(answer.status.code == status)
            }
            plugin.failure.withLock { $0 = nil }
            let list = try await self.ask(client, .get, token).json?["credentials"]?.list
            #expect(list?.map { $0["state"]?.text } == ["revoked", "revoked"])
        }
        let store = CredentialStore(try GatewayDatabase(at: gateway.configuration.database))
        let desk = CredentialDesk(store: store, issuer: plugin.issuer, root: .standard, broker: [])
        #expect(try await desk.withdraw(now: TestGateway.now) == nil)
        #expect(Set(plugin.names) == ["deleteClient", "deleteRole"])
        #expect(try await store.open(.dynamicSecurity).isEmpty)
    }

    /// Credentials that expired while no gateway ran are withdrawn after the restart.
    @Test func expiredCredentialsAreWithdrawnAfterARestart() async throws {
        let plugin = Plugin()
        let gateway = try TestGateway()
        let request = try CredentialRequest(reads: ["a"], for: .seconds(60))
        func desk() throws -> CredentialDesk {
            CredentialDesk(
                store: CredentialStore(try GatewayDatabase(at: gateway.configuration.database)),
                issuer: plugin.issuer, root: .standard, broker: ["mqtts://broker.example.org:8883"])
        }
        let issued = try await desk().issue(request, now: Self.start, by: .commandLine)
        #expect(issued.json["broker"] == .text("mqtts://broker.example.org:8883"))
        #expect(try await desk().withdraw(now: Self.start) == issued.credential.ends)
        #expect(plugin.names == ["createRole", "createClient"])
        #expect(try await desk().withdraw(now: issued.credential.ends) == nil)
        #expect(Array(plugin.names.suffix(2)) == ["deleteClient", "deleteRole"])
        #expect(try await desk().withdraw(now: UnixTime(2e9)) == nil)
        #expect(plugin.names.count == 4)
    }
}
