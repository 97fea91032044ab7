package import GRDB
package import TrackingCore

/// The gateway's own SQLite database: tokens, share links, sessions, rules and the outbox of webhook messages.
///
/// Several processes can have the file open. A running gateway is notified at once of the writes of other processes:
/// see ``changes()``.
package struct GatewayDatabase: Sendable {
    /// The SQLite connections for reading and writing the database.
    package let pool: DatabasePool
    private let path: String
    private let commits: DatabaseChanges

    /// One step in the history of the database's tables. A released migration is never edited; each change of the
    /// tables is a new migration.
    package struct Migration: Sendable {
        /// The name of the migration: the component and the migration's number within it, such as `access-1`.
        package let name: String
        /// The SQL statements of the migration, performed in order.
        package let statements: [String]

        /// Creates a migration of the gateway's database.
        ///
        /// - Parameters:
        ///   - name: The unique name, such as `access-1`.
        ///   - statements: The SQL statements to perform, in order.
        package init(_ name: String, _ statements: [String]) {
            self.name = name
            self.statements = statements
        }
    }

    /// Opens the database file. If it does not exist, it is created so that only its owner can read and write it. The
    /// folder must exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - migrations: The migrations of all components that use the file, in order.
    /// - Throws: `storeUnusable` when the file is no SQLite database, is damaged, or was written by a newer version of
    ///   Godwit; `storeFailed` when the file cannot be opened, or a migration fails.
    package init(path: String, migrations: [Migration]) throws(TrackingError) {
        self.path = path
        self.commits = DatabaseChanges(path: path)
        do {
            // SQLite answers some conflicts between programs that open one file at once without waiting.
            self.pool = try SystemFile.exclusively(inFolderOf: path) { try Self.open(path, Self.migrator(migrations)) }
        } catch {
            throw Self.explain(error, path)
        }
    }

    /// Opens the file, or creates it, and performs the missing migrations.
    private static func open(_ path: String, _ migrator: DatabaseMigrator) throws -> DatabasePool {
        // SQLite gives the write-ahead log and its index the permissions of the database file.
        SystemFile.createPrivate(path)
        let pool = try DatabasePool(path: path, configuration: Self.configuration)
        // With FULL, a committed write survives a power cut. GRDB's pool sets NORMAL when it is opened.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        guard try pool.read({ try !migrator.hasBeenSuperseded($0) }) else {
            throw TrackingError(
                .storeUnusable,
                "cannot open the gateway's database \(path): a newer version of Godwit wrote it. Use that version or a newer one."
            )
        }
        try migrator.migrate(pool)
        return pool
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_size_limit = 16777216")
            // Deleted rows, which can contain positions, are overwritten in the file.
            try db.execute(sql: "PRAGMA secure_delete = ON")
        }
        return configuration
    }

    private static func migrator(_ migrations: [Migration]) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for migration in migrations {
            migrator.registerMigration(migration.name) { db in
                for statement in migration.statements { try db.execute(sql: statement) }
            }
        }
        return migrator
    }

    /// Returns a stream that yields after each commit of ``write(_:)``, by any process. Call this function before
    /// reading the data whose changes matter, so that no change is missed.
    package func changes() -> AsyncStream<Void> { self.commits.stream() }

    /// Runs `body`, which reads from one consistent snapshot of the database, and returns its result.
    ///
    /// - Throws: `storeFailed` when the file cannot be read; `storeUnusable` when it is damaged; and each
    ///   `TrackingError` of `body`.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TrackingError) -> Value {
        do { return try await self.pool.read(body) } catch { throw Self.explain(error, self.path) }
    }

    /// Performs `body` in one transaction. The changes are durable when the function returns, and waiting tasks of
    /// ``changes()`` are woken.
    ///
    /// - Throws: `storeFailed` when the file cannot be written; `storeUnusable` when it is damaged; and each
    ///   `TrackingError` of `body`. After an error nothing is changed.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TrackingError) -> Value {
        do {
            let value = try await self.pool.write(body)
            self.commits.didCommit()
            return value
        } catch {
            throw Self.explain(error, self.path)
        }
    }

    /// Rewrites the database file and empties its write-ahead log, so that neither contains a byte of deleted rows.
    /// Waits at most 5 s for other processes that are reading the file.
    ///
    /// - Throws: `storeFailed`, or `storeUnusable` for a damaged file; the file can then still contain deleted rows.
    package func overwriteDeleted() async throws(TrackingError) {
        do {
            try await self.pool.vacuum()
            try await self.pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        } catch { throw Self.explain(error, self.path) }
    }

    /// Closes the database file. No other function may be called afterwards.
    ///
    /// - Throws: `storeFailed`, or `storeUnusable` for a damaged file.
    package func close() throws(TrackingError) {
        do { try SystemFile.exclusively(inFolderOf: self.path) { try self.pool.close() } } catch {
            throw Self.explain(error, self.path)
        }
    }

    private static func explain(_ error: any Error, _ path: String) -> TrackingError {
        switch error {
        case let error as TrackingError: return error
        case let error as DatabaseError:
            let isUnusable = [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
            return TrackingError(
                isUnusable ? .storeUnusable : .storeFailed,
                "cannot use the gateway's database \(path): \(error.message ?? "unknown error") (SQLite \(error.extendedResultCode.rawValue)). Check the file, its permissions and the disk"
            )
        default:
            return TrackingError(
                .storeFailed,
                "cannot use the gateway's database \(path): \(error). Check the file, its permissions and the disk")
        }
    }
}
