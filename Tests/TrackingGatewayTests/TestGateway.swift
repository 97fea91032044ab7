import Foundation
import Hummingbird
import HTTPTypes
import Synchronization
import TrackingCore
import TrackingStore

@testable import TrackingGateway
@testable import TrackingRules

/// A gateway in its own temporary folder.
final class TestGateway: Sendable {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-gateway-\(UUID().uuidString)")
    let access: AccessStore
    let configuration: GatewayConfiguration

    init(_ change: (inout GatewayConfiguration) -> Void = { _ in }) throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        var configuration = GatewayConfiguration(
            host: "127.0.0.1", port: 0, database: self.folder.appending(path: "gateway.sqlite").path())
        // On a busy computer, a read of the database can take longer than the limit for users.
        configuration.checkPatience = .seconds(60)
        change(&configuration)
        self.configuration = configuration
        self.access = AccessStore(try GatewayDatabase(at: configuration.database))
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    static var now: UnixTime { UnixTime(Date().timeIntervalSince1970) }

    /// Sends requests to the gateway's routes without a socket.
    func test(
        history: (any HistoryStore)? = nil, live: LiveState? = nil,
        _ body: @escaping @Sendable (RouterClient) async throws -> Void
    ) async throws {
        let gateway = try Gateway(configuration: self.configuration, history: history, live: live)
        try await gateway.application().testRoutes(body)
    }

    /// Returns the operations of the API description, such as `get /healthz`.
    func description() async throws -> Set<String> {
        let described = Mutex<Set<String>>([])
        try await self.test { client in
            let answer = try await client.execute(uri: "/api/v1/openapi.json", method: .get)
            for (path, operations) in answer.json?["paths"]?.object ?? [:] {
                let methods = operations.object?.keys.filter { $0 != "parameters" } ?? []
                described.withLock { $0.formUnion(methods.map { "\($0) \(path)" }) }
            }
        }
        return described.withLock { $0 }
    }

    func token(
        _ name: String = "desk", publish: [String] = [], read: [String]? = nil, isAdmin: Bool = false,
        ends: UnixTime? = nil
    ) async throws -> String {
        let grant = AccessGrant(
            name: name, publishes: .only(Set(try publish.map { try TrackableID($0) })),
            reads: try read.map { .only(Set(try $0.map { try TrackableID($0) })) } ?? .all, isAdmin: isAdmin,
            begins: UnixTime(0), ends: ends)
        return try await self.access.makeToken(grant).text
    }
}

extension RouterClient.Answer {
    var text: String { String(buffer: self.body) }
    var json: JSONValue? { try? JSONValue(json: self.body.readableBytesView) }
}

extension HTTPFields {
    static func bearer(_ token: String) -> HTTPFields { [.authorization: "Bearer \(token)"] }
}
