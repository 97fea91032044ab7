import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway

/// Where a gateway keeps what is its own: the same for every command that has to do with it.
struct StateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The gateway's folder, with its tokens and share links. Default: $STATE_DIRECTORY, else $XDG_STATE_HOME/godwit.",
            valueName: "folder"))
    var state: String?

    /// The path of one of its files; the folder is made.
    ///
    /// - Throws: `inputUnreadable` that names the folder that cannot be made.
    func path(for name: String) throws(TrackingError) -> String {
        try StateFolder.path(for: name, in: self.state, option: "--state")
    }

    /// Sees to it that no other program of a kind runs on the folder, for as long as the lock is there.
    ///
    /// - Throws: `spoolFailed` where one does; `inputUnreadable`.
    func lock(_ name: String, for program: String) throws(TrackingError) -> StateLock {
        try StateLock(path: try self.path(for: "\(name).lock"), of: program)
    }

    /// Opens the gateway's database, does something with it, and closes it. A gateway may run beside it.
    ///
    /// - Throws: `storeUnusable`, `storeFailed`, and what `body` throws.
    func useAccess<Value>(_ body: (AccessStore) async throws -> Value) async throws -> Value {
        try await self.use { try await body(AccessStore($0)) }
    }

    /// Opens the gateway's names, fences and rules, does something with them, and closes them. A gateway may run beside it.
    ///
    /// - Throws: `storeUnusable`, `storeFailed`, and what `body` throws.
    func useRules<Value>(_ body: (RuleStore) async throws -> Value) async throws -> Value {
        try await self.use { try await body(RuleStore($0)) }
    }

    private func use<Value>(_ body: (GatewayDatabase) async throws -> Value) async throws -> Value {
        let database = try GatewayDatabase(path: try self.path(for: "gateway.sqlite"))
        let result: Result<Value, any Error>
        do { result = .success(try await body(database)) } catch { result = .failure(error) }
        try database.close()
        return try result.get()
    }
}
