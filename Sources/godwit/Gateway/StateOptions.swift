import ArgumentParser
import FoundationEssentials
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingRules
import TrackingRuntime

/// The option `--state` for the place of a gateway's own data: tokens, share links, names and rules. Every command that
/// works on this data has the option.
struct StateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Keep the gateway's tokens, links, names and rules in this folder, or in postgres://user@host/database, which gateways can share. Default: $STATE_DIRECTORY, else $XDG_STATE_HOME/godwit.",
            valueName: "where"))
    var state: String?

    /// The URL of the PostgreSQL database with the gateway's data; `nil` for a folder. The URL may contain a password.
    private var url: String? { self.state.flatMap { GatewayDatabase.isURL($0) ? $0 : nil } }

    /// The place of the gateway's database: the path of its file, or the URL of the PostgreSQL database.
    ///
    /// - Throws: `inputUnreadable` if the folder cannot be created.
    func database() throws(TrackingError) -> String {
        if let url = self.url { return url }
        return try self.path(for: "gateway.sqlite")
    }

    /// The folder of the gateway's files if its database is in PostgreSQL, and `nil` otherwise.
    ///
    /// - Throws: `inputUnreadable` if the folder cannot be created.
    func folderBesideServer() throws(TrackingError) -> String? {
        guard self.url != nil else { return nil }
        return String(try self.path(for: "").dropLast())
    }

    /// Returns the path of a file in the state folder, and creates the folder. With a PostgreSQL database it is the
    /// default folder.
    ///
    /// - Throws: `inputUnreadable` if the folder cannot be created.
    func path(for name: String) throws(TrackingError) -> String {
        try StateFolder.path(
            for: name, in: self.url == nil ? self.state : nil, option: self.url == nil ? "--state" : "$STATE_DIRECTORY")
    }

    /// Takes the lock of the state folder for one kind of program, gateway or bridge. The lock is held until the
    /// returned object is released.
    ///
    /// - Throws: `spoolFailed` if a program of this kind runs on the folder already; `inputUnreadable` if the folder
    ///   cannot be created.
    func lock(_ name: String, for program: String) throws(TrackingError) -> StateLock {
        try StateLock(path: try self.path(for: "\(name).lock"), of: program)
    }

    /// Opens the tokens and share links in the gateway's database, runs `body`, and closes the database. A gateway may
    /// run at the same time.
    ///
    /// - Throws: `storeUnusable` or `storeFailed` if the database cannot be used; `inputUnreadable` if the state folder
    ///   cannot be created; the errors of `body`.
    func useAccess<Value>(_ body: (AccessStore) async throws -> Value) async throws -> Value {
        try await self.use { try await body(AccessStore($0)) }
    }

    /// Opens the names, fences and rules in the gateway's database, runs `body`, and closes the database. A gateway may
    /// run at the same time.
    ///
    /// - Throws: `storeUnusable` or `storeFailed` if the database cannot be used; `inputUnreadable` if the state folder
    ///   cannot be created; the errors of `body`.
    func useRules<Value>(_ body: (RuleStore) async throws -> Value) async throws -> Value {
        try await self.use { try await body(RuleStore($0)) }
    }

    /// Opens the audit log, the recorded changes to a gateway's data, in the gateway's database, runs `body`, and
    /// closes the database. A gateway may run at the same time.
    ///
    /// - Throws: `storeUnusable` or `storeFailed` if the database cannot be used; `inputUnreadable` if the state folder
    ///   cannot be created; the errors of `body`.
    func useAudit<Value>(_ body: (AuditLog) async throws -> Value) async throws -> Value {
        try await self.use { try await body(AuditLog($0)) }
    }

    /// Opens the credentials of apps in the gateway's database, runs `body`, and closes the database. A gateway may run
    /// at the same time.
    ///
    /// - Throws: `storeUnusable` or `storeFailed` if the database cannot be used; `inputUnreadable` if the state folder
    ///   cannot be created; the errors of `body`.
    func useCredentials<Value>(_ body: (CredentialStore) async throws -> Value) async throws -> Value {
        try await self.use { try await body(CredentialStore($0)) }
    }

    /// Opens the credentials of apps, as ``useCredentials(_:)`` does, with the desk that issues and withdraws them;
    /// `nil` without an issuer.
    ///
    /// - Throws: Also `invalidConfiguration` or `inputUnreadable` for the options of the issuer.
    func useCredentials<Value>(
        _ options: CredentialOptions, _ broker: BrokerOptions,
        _ body: (CredentialStore, CredentialDesk?) async throws -> Value
    ) async throws -> Value {
        let issuer = try options.issuer(broker)
        let root = try TopicRoot(broker.topicRoot)
        let addresses = options.credentialIssuer == .dynamicSecurity ? try broker.addresses.map { "\($0)" } : []
        return try await self.useCredentials { store in
            let desk = issuer.map { CredentialDesk(store: store, issuer: $0, root: root, broker: addresses) }
            return try await body(store, desk)
        }
    }

    private func use<Value>(_ body: (GatewayDatabase) async throws -> Value) async throws -> Value {
        let database = try GatewayDatabase(at: try self.database())
        let result: Result<Value, any Error>
        do { result = .success(try await body(database)) } catch { result = .failure(error) }
        try database.close()
        return try result.get()
    }
}

/// The file in a gateway's state folder with the URL at which browsers reach the gateway. The gateway writes the file
/// when it begins to listen. `godwit share` begins its links with the URL.
struct GatewayAddress {
    private let path: String
    /// The largest size of the file with the gateway's URL, in bytes. A larger file is ignored.
    private static let limit = 1000

    /// Determines the path of the address file in a gateway's state folder, and creates the folder.
    ///
    /// - Throws: `inputUnreadable` if the folder cannot be created.
    init(in state: StateOptions) throws(TrackingError) { self.path = try state.path(for: "gateway-address") }

    /// The URL of the gateway that the file contains; `nil` if no gateway has written the file, or if its content is
    /// not a URL of a gateway.
    var url: String? {
        guard let bytes = FileManager.default.contents(atPath: self.path), bytes.count <= Self.limit else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.map(String.init)
        return text.flatMap { try? GatewayURL.checked($0) }
    }

    /// Writes the URL at which browsers reach a gateway to the file.
    ///
    /// - Parameters:
    ///   - address: The address on which the gateway listens.
    ///   - url: The public URL of the gateway; `nil` if browsers use the address on which the gateway listens.
    /// - Throws: An error of the file system.
    func write(_ address: ListenAddress, url: String?) throws {
        try Data("\(url ?? "http://\(address.reachable)")\n".utf8).write(to: URL(filePath: self.path), options: .atomic)
    }
}
