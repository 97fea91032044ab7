package import TrackingCore

/// The engine of a gateway's database: SQLite or PostgreSQL. ``GatewayTransaction`` is what both engines give to the
/// stores.
package protocol GatewayEngine: Sendable {
    /// Returns a stream that yields after each committed write, by any process. Several commits are yielded as one while
    /// no task reads the stream.
    func changes() -> AsyncStream<Void>

    /// Runs `body`, which reads from one consistent snapshot of the database, and returns its result.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`; and each `TrackingError` of `body`.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value

    /// Performs `body` in one transaction, while no other one writes. The changes are durable when the function returns.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`; and each `TrackingError` of `body`. After an error nothing is changed, with
    ///   one exception: if the connection to PostgreSQL is lost during the commit, the changes may be durable.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayTransaction) throws -> Value
    ) async throws(TrackingError) -> Value

    /// Rewrites the files of the database, so that they contain no byte of deleted rows.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`; the files can then still contain deleted rows.
    func overwriteDeleted() async throws(TrackingError)

    /// Closes the database. No other function may be called afterwards.
    func close() throws(TrackingError)
}

/// One step in the history of a gateway's tables. A released migration is never edited; each change of the tables is a
/// new migration.
package struct GatewayMigration: Sendable {
    /// The name of the migration: the component and the migration's number within it, such as `access-1`.
    package let name: String
    /// The SQL statements of the migration, performed in order.
    package let statements: [String]
    /// The SQL statements for PostgreSQL. Their types are written as those of SQLite.
    package let postgresStatements: [String]

    /// Creates a migration of a gateway's database.
    ///
    /// - Parameters:
    ///   - name: The unique name, such as `access-1`.
    ///   - statements: The SQL statements to perform, in order.
    ///   - postgresStatements: The statements to perform in PostgreSQL instead; `nil` if both engines accept the
    ///     statements, apart from the names of types.
    package init(_ name: String, _ statements: [String], postgres postgresStatements: [String]? = nil) {
        self.name = name
        self.statements = statements
        self.postgresStatements = postgresStatements ?? statements
    }
}
