import Synchronization
package import TrackingCore

/// A gateway's database in PostgreSQL, in the schema `godwit_gateway`. Several gateways can use it at the same time.
///
/// One transaction writes at a time, as in SQLite, so that a store may read rows and then write others that depend on
/// them. A transaction that reads sees one snapshot.
package final class PostgresEngine: GatewayEngine {
    /// The name of the PostgreSQL schema in which the tables are, and of the channel of the notifications.
    static let schema = "godwit_gateway"
    /// The number of the PostgreSQL advisory lock of the transaction that writes: the bytes of "GdGw".
    private static let lock = 0x4764_4777
    /// The name of the data in errors.
    static let subject = "the gateway's database"
    /// The time that a call waits for an answer of the server.
    private static let patience = Duration.seconds(10)
    /// The time within which a call has to fail to be repeated. A connection that the server has ended fails at once,
    /// and a server that does not answer is not asked twice.
    private static let retryLimit = Duration.seconds(2)

    private let address: String
    private let prepare: PostgresThread.Preparation
    private let writer: PostgresThread
    private let readers: [PostgresThread]
    private let reads = Atomic(0)
    private let commits: PostgresChanges

    /// Creates access to a database without connecting to the server. The first call connects, and makes the tables.
    ///
    /// - Parameters:
    ///   - address: `postgres://user@host:port/database`. libpq's environment variables and password file apply.
    ///   - migrations: The migrations of all components that use the database, in order.
    package init(address: String, migrations: [GatewayMigration]) {
        let prepare: PostgresThread.Preparation = { connection throws(TrackingError) in
            try Self.prepare(connection, migrations)
        }
        func thread(_ name: String) -> PostgresThread {
            PostgresThread(
                address, name: "godwit.gateway.\(name)", patience: Self.patience, subject: Self.subject,
                prepare: prepare)
        }
        self.address = address
        self.prepare = prepare
        self.writer = thread("write")
        self.readers = [thread("read-1"), thread("read-2")]
        self.commits = PostgresChanges(address)
    }

    package func changes() -> AsyncStream<Void> { self.commits.stream() }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value {
        let thread = self.readers[(self.reads.add(1, ordering: .relaxed).newValue & Int.max) % self.readers.count]
        let read: @Sendable (PostgresConnection) throws(TrackingError) -> Value = { connection throws(TrackingError) in
            try connection.runAll("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            let value = try Self.perform(body, connection)
            try connection.runAll("COMMIT")
            return value
        }
        let start = ContinuousClock.now
        do { return try await thread.perform(read) } catch {
            // The server may have ended the connection while it was not used.
            guard error.code == .storeFailed, !Task.isCancelled, start.duration(to: .now) < Self.retryLimit else {
                throw Self.explain(error)
            }
        }
        do { return try await thread.perform(read) } catch { throw Self.explain(error) }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value {
        let hasBegun = Flag()
        let write: @Sendable (PostgresConnection) throws(TrackingError) -> Value = { connection throws(TrackingError) in
            try connection.runAll("BEGIN; SELECT pg_advisory_xact_lock(\(Self.lock))")
            hasBegun.set()
            let value = try Self.perform(body, connection)
            try connection.runAll("NOTIFY \(Self.schema); COMMIT")
            return value
        }
        let start = ContinuousClock.now
        do { return try await self.writer.perform(write) } catch {
            // The server may have ended the connection while it was not used. Nothing was written then.
            guard error.code == .storeFailed, !hasBegun.isSet, !Task.isCancelled,
                start.duration(to: .now) < Self.retryLimit
            else { throw Self.explain(error) }
        }
        do { return try await self.writer.perform(write) } catch { throw Self.explain(error) }
    }

    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isSet: Bool { self.value.load(ordering: .sequentiallyConsistent) }
        func set() { self.value.store(true, ordering: .sequentiallyConsistent) }
    }

    /// Rewrites the tables that can contain positions. The server's write-ahead log, its replicas and its backups can still contain deleted rows.
    package func overwriteDeleted() async throws(TrackingError) {
        let thread = PostgresThread(
            self.address, name: "godwit.gateway.rewrite", patience: nil, subject: Self.subject, prepare: self.prepare)
        defer { thread.close() }
        do {
            try await thread.perform { connection throws(TrackingError) in
                let tables = try connection.run(
                    """
                    SELECT tablename::text FROM pg_tables WHERE schemaname = '\(Self.schema)'
                    AND tablename NOT IN ('token', 'session', 'lease', 'migration') ORDER BY 1
                    """)
                for row in 0..<tables.count { try connection.runAll("VACUUM FULL \(tables.text(row, 0))") }
            }
        } catch { throw Self.explain(error) }
    }

    package func close() {
        for thread in self.readers + [self.writer] { thread.close() }
        self.commits.close()
    }

    /// Returns the error for the stores: a rejected row is a failure, and a missing privilege makes the database
    /// unusable.
    private static func explain(_ error: TrackingError) -> TrackingError {
        switch error.code {
        case .storeRefused: TrackingError(.storeFailed, error.message)
        case .storeForbidden: TrackingError(.storeUnusable, error.message)
        default: error
        }
    }

    // MARK: - Statements

    private static func perform<Value>(
        _ body: (GatewayTransaction) throws -> Value, _ connection: PostgresConnection
    ) throws(TrackingError) -> Value {
        do {
            return try body(GatewayTransaction { try self.run($0, $1, connection) })
        } catch let error as TrackingError {
            throw error
        } catch {
            throw TrackingError(.storeFailed, "cannot use \(self.subject): \(error)")
        }
    }

    private static func run(
        _ sql: String, _ values: [GatewayValue], _ connection: PostgresConnection
    ) throws(TrackingError) -> GatewayTransaction.Result {
        let result = try connection.run(self.numbered(sql), values.map(\.postgresValue))
        let names = result.columns
        let rows = (0..<result.count).map { row in
            GatewayRow(names: names, values: names.indices.map { GatewayValue(result, row, $0) })
        }
        return GatewayTransaction.Result(rows: rows, changes: result.changes)
    }

    /// Returns a statement with its parameters in PostgreSQL's form: `$1` for `?1`, and for the first `?`.
    static func numbered(_ sql: String) -> String {
        var (result, count) = ("", 0)
        var rest = sql[...]
        while let mark = rest.firstIndex(of: "?") {
            result += rest[..<mark] + "$"
            rest = rest[mark...].dropFirst()
            guard rest.first?.isASCII == true, rest.first?.isNumber == true else {
                count += 1
                result += "\(count)"
                continue
            }
        }
        return result + rest
    }

    // MARK: - Tables

    /// Configures a connection, and performs the missing migrations.
    ///
    /// - Throws: `storeUnusable` when a newer version of Godwit made the tables; `storeFailed`.
    private static func prepare(
        _ connection: PostgresConnection, _ migrations: [GatewayMigration]
    ) throws(TrackingError) {
        try connection.runAll(PostgresHistorySchema.session)
        // A suspended gateway, or one on a lost host, does not hold the lock of the writing transaction for longer.
        try connection.runAll("SET idle_in_transaction_session_timeout = '5s'")
        try connection.limitWaiting()
        let known = try self.performed(connection)
        guard known.isSubset(of: migrations.map(\.name)) else {
            throw TrackingError(
                .storeUnusable,
                "cannot open the gateway's database in PostgreSQL: a newer version of Godwit wrote its schema \(self.schema). Use that version or a newer one"
            )
        }
        if known.count < migrations.count { try self.migrate(connection, migrations) }
        try connection.runAll("SET search_path = \(self.schema)")
    }

    private static func migrate(
        _ connection: PostgresConnection, _ migrations: [GatewayMigration]
    ) throws(TrackingError) {
        do throws(TrackingError) {
            try connection.runAll(
                """
                BEGIN; SELECT pg_advisory_xact_lock(\(self.lock));
                CREATE SCHEMA IF NOT EXISTS \(self.schema); SET LOCAL search_path = \(self.schema);
                CREATE TABLE IF NOT EXISTS migration (name text PRIMARY KEY);
                CREATE TABLE IF NOT EXISTS lease (name text PRIMARY KEY, owner text NOT NULL, until float8 NOT NULL)
                """)
            // Another gateway may have performed the migrations before it released the lock.
            let known = try self.performed(connection)
            for migration in migrations where !known.contains(migration.name) {
                for statement in migration.postgresStatements { try connection.runAll(self.translated(statement)) }
                try connection.run("INSERT INTO migration VALUES ($1)", [.text(migration.name)])
            }
            try connection.runAll("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.runAll("ROLLBACK") }
            throw error
        }
    }

    /// Returns the names of the migrations that the database contains.
    private static func performed(_ connection: PostgresConnection) throws(TrackingError) -> Set<String> {
        let table = "\(self.schema).migration"
        guard try !connection.run("SELECT to_regclass('\(table)')::text").isNull(0, 0) else { return [] }
        let rows = try connection.run("SELECT name FROM \(table)")
        return Set((0..<rows.count).map { rows.text($0, 0) })
    }

    /// Returns a statement that creates or changes a table, with PostgreSQL's names of the types. Texts are compared by
    /// their bytes, as SQLite does.
    static func translated(_ statement: String) -> String {
        let identity = "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        let names = [
            (" STRICT, WITHOUT ROWID", ""), (" STRICT", ""), ("INTEGER PRIMARY KEY AUTOINCREMENT", identity),
            ("INTEGER PRIMARY KEY", identity), ("INTEGER", "bigint"), ("REAL", "float8"), ("BLOB", "bytea"),
            ("TEXT", "text COLLATE \"C\""),
        ]
        return names.reduce(statement) { $0.replacing($1.0, with: $1.1) }
    }
}

extension GatewayValue {
    /// The value for a parameter of a statement of PostgreSQL. The server infers the type of NULL.
    fileprivate var postgresValue: PostgresValue {
        switch self {
        case .null: PostgresValue(type: 0, bytes: nil)
        case .integer(let value): .int(value)
        case .real(let value): .double(value)
        case .text(let value): .text(value)
        case .bytes(let value): .bytes(value)
        }
    }

    /// Reads a value from a result of PostgreSQL.
    fileprivate init(_ result: PostgresRows, _ row: Int, _ column: Int) {
        guard !result.isNull(row, column) else {
            self = .null
            return
        }
        let bytes = result.bytes(row, column)
        self =
            switch result.type(column) {
            case 17: .bytes(bytes)
            case 20: .integer(result.integer(row, column))
            case 23: .integer(Int64(Int32(truncatingIfNeeded: result.integer(row, column))))
            case 16: .integer(bytes == [0] ? 0 : 1)
            case 701: .real(result.number(row, column))
            default: .text(String(decoding: bytes, as: UTF8.self))
            }
    }
}
