import FoundationEssentials
import GRDB
import TrackingCore
import TrackingStore

/// A gateway's database in one file of SQLite. Several processes can have the file open.
struct SQLiteEngine: GatewayEngine {
    /// The SQLite connections for reading and writing the database.
    let pool: DatabasePool
    private let path: String
    private let commits: DatabaseChanges

    /// Opens the database file. If it does not exist, it is created so that only its owner can read and write it. The
    /// folder must exist.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - migrations: The migrations of all components that use the file, in order.
    /// - Throws: `storeUnusable` when the file is no SQLite database, is damaged, or was written by a newer version of
    ///   Godwit; `storeFailed` when the file cannot be opened, or a migration fails.
    init(path: String, migrations: [GatewayMigration]) throws(TrackingError) {
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
            db.add(function: Self.octetLength)
        }
        return configuration
    }

    /// The SQL function `octet_length`, which PostgreSQL has and SQLite has from version 3.43 on: the number of bytes of
    /// a text in UTF-8.
    private static let octetLength = DatabaseFunction("octet_length", argumentCount: 1, pure: true) { values in
        String.fromDatabaseValue(values[0]).map { $0.utf8.count }
    }

    private static func migrator(_ migrations: [GatewayMigration]) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for migration in migrations {
            migrator.registerMigration(migration.name) { db in
                for statement in migration.statements { try db.execute(sql: statement) }
            }
        }
        return migrator
    }

    func changes() -> AsyncStream<Void> { self.commits.stream() }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value {
        do { return try await self.pool.read { try body(Self.transaction($0)) } } catch {
            throw Self.explain(error, self.path)
        }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value {
        do {
            let value = try await self.pool.write { try body(Self.transaction($0)) }
            self.commits.didCommit()
            return value
        } catch {
            throw Self.explain(error, self.path)
        }
    }

    private static func transaction(_ db: Database) -> GatewayTransaction {
        GatewayTransaction { sql, values in
            let statement = try db.makeStatement(sql: sql)
            let names = statement.columnNames.map { $0.lowercased() }
            let rows = try Row.fetchAll(statement, arguments: StatementArguments(values.map(\.databaseValue)))
            return GatewayTransaction.Result(
                rows: rows.map { row in
                    GatewayRow(names: names, values: row.databaseValues.map { GatewayValue($0) })
                }, changes: db.changesCount)
        }
    }

    /// Rewrites the database file and empties its write-ahead log. Waits at most 5 s for other processes that are
    /// reading the file.
    func overwriteDeleted() async throws(TrackingError) {
        do {
            try await self.pool.vacuum()
            try await self.pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        } catch { throw Self.explain(error, self.path) }
    }

    func close() throws(TrackingError) {
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

extension GatewayValue {
    /// Creates a value from a column of SQLite.
    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let value): self = .text(value)
        case .blob(let value): self = .bytes([UInt8](value))
        }
    }

    /// The value for a parameter of a statement of SQLite.
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let value): value.databaseValue
        case .bytes(let value): Data(value).databaseValue
        }
    }
}
