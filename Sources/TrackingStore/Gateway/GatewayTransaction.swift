/// An open transaction of a gateway's database, in which a store reads and writes rows.
///
/// The statements are written for SQLite and PostgreSQL alike. Their parameters are `?`, or `?1`, `?2` and so on.
package final class GatewayTransaction {
    /// The result of one statement: the rows of a query, and the number of rows that a change inserted, updated or
    /// deleted.
    package struct Result {
        let rows: [GatewayRow]
        let changes: Int

        /// Creates the result of a statement.
        package init(rows: [GatewayRow], changes: Int) {
            self.rows = rows
            self.changes = changes
        }
    }

    /// The number of rows that the last statement of ``execute(sql:arguments:)`` inserted, updated or deleted.
    package private(set) var changesCount = 0
    private let run: (String, [GatewayValue]) throws -> Result

    /// Creates a transaction of one engine.
    ///
    /// - Parameter run: Runs one statement with the values of its parameters.
    package init(_ run: @escaping (String, [GatewayValue]) throws -> Result) { self.run = run }

    /// Runs a statement that changes rows.
    package func execute(sql: String, arguments: [(any GatewayValueConvertible)?] = []) throws {
        self.changesCount = try self.run(sql, Self.values(arguments)).changes
    }

    /// Runs a query, or a statement with `RETURNING`, and returns its rows.
    package func rows(sql: String, arguments: [(any GatewayValueConvertible)?] = []) throws -> [GatewayRow] {
        try self.run(sql, Self.values(arguments)).rows
    }

    private static func values(_ arguments: [(any GatewayValueConvertible)?]) -> [GatewayValue] {
        arguments.map { $0?.columnValue ?? .null }
    }
}
