import ArgumentParser
import FoundationEssentials
import GodwitOptions
import TrackingCore
import TrackingRuntime
import TrackingStore

/// The option `--store`, which selects the history, the database of recorded positions. Every command that reads or
/// writes the history has it.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use this history: sqlite:FILE or postgres://user@host/database. Default: history.sqlite in $STATE_DIRECTORY, else in $XDG_STATE_HOME/godwit.",
            valueName: "where"))
    var store: StoreLocation?

    /// Opens the history, runs `body`, and closes the history. While another program writes the history, tries to open
    /// it for at most three minutes.
    ///
    /// - Parameters:
    ///   - mayMake: `true` to create a history that does not exist: the SQLite file, or the tables in the PostgreSQL
    ///     database; `false` makes that an error.
    ///   - mayChange: `true` to open an existing SQLite file for writing; `false` opens it for reading, unless
    ///     `mayMake` is `true`.
    /// - Throws: `inputUnreadable` if the history does not exist; `storeUnusable`, `storeFailed` or `storeBusy` if it
    ///   cannot be used; the errors of `body`.
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

    /// Opens the history that `--store` selects.
    ///
    /// - Parameters:
    ///   - mayMake: `true` to create a history that does not exist, and to open it for writing; `false` makes a missing
    ///     history an error.
    ///   - mayChange: `true` to open an existing SQLite file for writing. If `mayMake` and `mayChange` are `false`, the
    ///     file is opened for reading only.
    ///   - patience: The longest time to wait for each answer of a database server; `nil` for no limit.
    ///   - isAway: Called with the reason if the database server cannot be reached or has no history yet, and the history
    ///     is returned all the same. With `nil`, both are errors.
    /// - Throws: `inputUnreadable` if the history does not exist; `invalidConfiguration` if the address of the
    ///   server cannot be read; `storeUnusable`, `storeFailed` or `storeBusy` if the history cannot be opened.
    func open(
        mayMake: Bool, mayChange: Bool = false, patience: Duration? = nil, isAway: ((TrackingError) -> Void)? = nil
    ) async throws(TrackingError) -> any HistoryStore {
        switch try self.location() {
        case .sqlite(let path):
            guard mayMake || FileManager.default.fileExists(atPath: path) else {
                throw TrackingError(
                    .inputUnreadable,
                    "cannot find the history '\(path)'. Name another one with --store, or create one with godwit record or godwit import"
                )
            }
            return try SQLiteHistoryStore(path: path, isForReading: !mayMake && !mayChange)
        case .postgres(let address):
            return try await PostgresHistoryStore(
                address: address, mayMake: mayMake, patience: patience, isAway: isAway)
        }
    }

    /// Returns the place of the history: the one given by `--store`, otherwise the file `history.sqlite` in the default
    /// state folder.
    func location() throws(TrackingError) -> StoreLocation {
        if let store = self.store { return store }
        return .sqlite(path: try StateFolder.path(for: "history.sqlite", option: "--store"))
    }
}

/// The place of a history, in a file or on a server, as the user gives it with `--store`.
enum StoreLocation: Hashable, ExpressibleByArgument {
    /// The history is the SQLite file at this path.
    case sqlite(path: String)
    /// The history is in the PostgreSQL database with this connection URL, in the form of libpq.
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

    /// The place of the history as text for people: the path of the file, or `PostgreSQL`. The URL of a database is
    /// left out, because it may contain a password.
    var name: String {
        switch self {
        case .sqlite(let path): "'\(path)'"
        case .postgres: "PostgreSQL"
        }
    }
}
