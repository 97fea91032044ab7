import ArgumentParser
import FoundationEssentials
import GodwitOptions
import TrackingCore
import TrackingStore

/// Where the history is: the same for every command that reads it or writes it.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The history: sqlite:FILE, or postgres://user@host/database. Default: history.sqlite in $STATE_DIRECTORY, else in $XDG_STATE_HOME/godwit.",
            valueName: "where"))
    var store: StoreLocation?

    /// Opens the history, does something with it, and closes it. One that another program writes as it is opened is waited for.
    ///
    /// - Parameters:
    ///   - mayMake: Whether a history that is not there yet is made; otherwise that is an error.
    ///   - mayChange: Whether one that is there is changed; otherwise it is only read.
    /// - Throws: `inputUnreadable` when it is not there, `storeUnusable`, `storeFailed`, `storeBusy`, and what `body` throws.
    func use<Value>(
        mayMake: Bool = false, mayChange: Bool = false, _ body: (any HistoryStore) async throws -> Value
    ) async throws -> Value {
        let store = try await StorePatience.trying([.storeBusy]) { () throws(TrackingError) in
            try await self.open(mayMake: mayMake, mayChange: mayChange)
        }
        let result: Result<Value, any Error>
        do { result = .success(try await body(store)) } catch { result = .failure(error) }
        try await store.close()
        return try result.get()
    }

    /// Opens the history.
    ///
    /// - Parameters:
    ///   - mayMake: Whether a history that is not there yet is made; otherwise that is an error.
    ///   - mayChange: Whether one that is there is changed; otherwise, unless it may be made, it is only read, and need not be one
    ///     that can be written.
    ///   - patience: How long a server may take to answer; `nil`: as long as it takes.
    ///   - isAway: Told why a server cannot be reached now, which is no error then.
    /// - Throws: `inputUnreadable` when it is not there, `storeUnusable`, `storeFailed`, `storeBusy`.
    func open(
        mayMake: Bool, mayChange: Bool = false, patience: Duration? = nil, isAway: ((TrackingError) -> Void)? = nil
    ) async throws(TrackingError) -> any HistoryStore {
        switch try self.location() {
        case .sqlite(let path):
            guard mayMake || FileManager.default.fileExists(atPath: path) else {
                throw TrackingError(
                    .inputUnreadable,
                    "there is no history \(path) yet: name another with --store, or make one with godwit record or godwit import"
                )
            }
            return try SQLiteHistoryStore(path: path, isForReading: !mayMake && !mayChange)
        case .postgres(let address):
            return try await PostgresHistoryStore(
                address: address, patience: patience, isAway: isAway)
        }
    }

    /// Where it is: as given, or else the file in the state folder.
    func location() throws(TrackingError) -> StoreLocation {
        if let store = self.store { return store }
        return .sqlite(path: try StateFolder.path(for: "history.sqlite", option: "--store"))
    }
}

/// A place for a history, as `--store` names it.
enum StoreLocation: Hashable, ExpressibleByArgument {
    /// A file.
    case sqlite(path: String)
    /// What libpq takes for an address.
    case postgres(address: String)

    init?(argument: String) {
        if argument.hasPrefix("sqlite:"), argument.utf8.count > "sqlite:".utf8.count {
            self = .sqlite(path: String(argument.dropFirst("sqlite:".count)))
        } else if argument.hasPrefix("postgres://") || argument.hasPrefix("postgresql://") {
            self = .postgres(address: argument)
        } else {
            return nil
        }
    }
}
