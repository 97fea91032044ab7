package import TrackingCore
package import TrackingStore

/// The gateway's own database: tokens, share links, sessions, rules and the outbox of webhook messages. It is a file of
/// SQLite, or a PostgreSQL database that several gateways share.
///
/// Several processes can have the database open. A running gateway is notified at once of the writes of other
/// processes: see ``changes()``.
package struct GatewayDatabase: Sendable {
    /// One step in the history of the database's tables.
    package typealias Migration = GatewayMigration

    /// The engine that stores the rows.
    let engine: any GatewayEngine

    /// Opens a file, or creates it; the folder must exist. A PostgreSQL database is opened, and its tables are created,
    /// by the first call of another function.
    ///
    /// - Parameters:
    ///   - place: The path of the file, or the URL of the PostgreSQL database.
    ///   - migrations: The migrations of all components that use the database, in order.
    /// - Throws: `storeUnusable` when the file is no SQLite database, is damaged, or was written by a newer version of
    ///   Godwit; `storeFailed` when the file cannot be opened, or a migration fails.
    package init(at place: String, migrations: [Migration]) throws(TrackingError) {
        self.engine =
            Self.isURL(place)
            ? PostgresEngine(address: place, migrations: migrations)
            : try SQLiteEngine(path: place, migrations: migrations)
    }

    /// `true` if several gateways can use the database at the same time: it is in PostgreSQL.
    package var isShared: Bool { self.engine is PostgresEngine }

    /// Returns `true` if the place of a database is the URL of a PostgreSQL database. The URL may contain a password.
    package static func isURL(_ place: String) -> Bool {
        place.hasPrefix("postgres://") || place.hasPrefix("postgresql://")
    }

    /// Returns a stream that yields after each commit of ``write(_:)``, by any process. Call this function before
    /// reading the data whose changes matter, so that no change is missed.
    package func changes() -> AsyncStream<Void> { self.engine.changes() }

    /// Runs `body`, which reads from one consistent snapshot of the database, and returns its result.
    ///
    /// - Throws: `storeFailed` when the database cannot be read; `storeUnusable` when it is damaged; and each
    ///   `TrackingError` of `body`.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value {
        try await self.engine.read(body)
    }

    /// Performs `body` in one transaction. The changes are durable when the function returns, and waiting tasks of
    /// ``changes()`` are woken.
    ///
    /// - Throws: `storeFailed` when the database cannot be written; `storeUnusable` when it is damaged; and each
    ///   `TrackingError` of `body`. After an error nothing is changed.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value {
        try await self.engine.write(body)
    }

    /// Rewrites the files of the database, so that they contain no byte of deleted rows.
    ///
    /// - Throws: `storeFailed`, or `storeUnusable` for a damaged database; the files can then still contain deleted
    ///   rows.
    package func overwriteDeleted() async throws(TrackingError) { try await self.engine.overwriteDeleted() }

    /// Closes the database. No other function may be called afterwards.
    ///
    /// - Throws: `storeFailed`, or `storeUnusable` for a damaged database.
    package func close() throws(TrackingError) { try self.engine.close() }
}
