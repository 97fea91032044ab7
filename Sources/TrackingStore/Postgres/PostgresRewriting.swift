import SystemLibrary
import TrackingCore

/// Removes deleted data from the server's files: from the files of the tables, and from the server's statistics about
/// the values in the tables.
struct PostgresRewriting {
    private let connection: PostgresConnection

    /// The time in milliseconds, 3,000, that the server waits for other users of a table to finish. After it, the table
    /// is not rewritten. Meanwhile new users of the table have to wait.
    private static let patience = 3000
    /// The time in milliseconds that the server waits for other users of each remaining table, after the rewriting of
    /// one table has failed.
    private static let impatience = 100

    /// The tables to rewrite after an erasure. A table that is empty gets a temporary row with the given columns and
    /// values. Both texts are empty for the table `trackable`, which always has a row.
    private static let tables = [
        (
            name: "run", columns: "trackable, first, last, south, west, north, east, count",
            row: "0, 0, 0, 0, 0, 1, 1, 0"
        ),
        (name: "event", columns: "trackable, time, stream, seq, id, kind, json", row: "0, 0, 0, 0, '', '', ''"),
        (
            name: "trip", columns: "trackable, id, mode, state, start, distance, duration, stream, seq, json",
            row: "0, '', '', '', 0, 0, 0, 0, 0, ''"
        ),
        (name: "state", columns: "trackable, name, received", row: "0, '', 0"),
        (name: "quarantine", columns: "trackable, received, topic, reason, payload", row: "'', 0, '', '', ''"),
        (name: "coverage", columns: "stream, first, last, mark", row: "0, 0, 0, 0"),
        (name: "trackable", columns: "", row: ""),
    ]

    init(_ connection: PostgresConnection) { self.connection = connection }

    /// Rewrites the files of all tables after an erasure, so that they contain no deleted rows. A table that cannot be
    /// rewritten now is skipped.
    ///
    /// - Returns: A description of each part that could not be rewritten, with the remedy; empty after success.
    func run() -> [String] {
        var remains: [String] = []
        do throws(TrackingError) {
            try self.connection.runAll("SET lock_timeout = \(Self.patience)")
            let partitions = try self.partitions()
            let transaction = try self.forgetValues(partitions)
            guard try self.isBehindAll(transaction) else {
                throw TrackingError(
                    .storeFailed,
                    "transactions that began before the erasure are still in progress, for example a backup")
            }
            var kept: [String] = []
            var reason: TrackingError?
            for table in Self.tables.map(\.name) + partitions.map(\.name) + ["pg_statistic"] {
                do throws(TrackingError) {
                    if try !self.isWrittenAnew(table) { kept.append(table) }
                } catch {
                    kept.append(table)
                    reason = reason ?? error
                    // Programs that wait behind this lock do not wait for each table in turn.
                    try self.connection.runAll("SET lock_timeout = \(Self.impatience)")
                }
            }
            if !kept.isEmpty {
                let cause = reason?.message ?? "only the owner of a table may rewrite it"
                remains.append(
                    "the files of \(kept.joined(separator: ", ")) could not be rewritten (\(cause)): "
                        + "erase again, as the owner of these tables, when no program or backup reads them")
            }
        } catch {
            remains.append(
                "the files of the tables could not be rewritten (\(error.message)): "
                    + "erase again when all transactions that began before have ended")
        }
        if self.connection.isInTransaction { try? self.connection.runAll("ROLLBACK") }
        try? self.connection.runAll("SET lock_timeout = DEFAULT")
        return remains
    }

    /// Returns the names of the partitions of the database table `point`, each with the earliest time of the points
    /// that it may contain.
    private func partitions() throws(TrackingError) -> [(name: String, from: Double)] {
        let rows = try self.connection.run(
            """
            SELECT c.oid::regclass::text, coalesce(substring(pg_get_expr(c.relpartbound, c.oid) \
            FROM 'FROM \\(''([^'']*)''\\)')::float8, 0) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
            WHERE i.inhparent = 'point'::regclass ORDER BY c.relname
            """)
        return (0..<rows.count).map { (rows.text($0, 0), rows.number($0, 1)) }
    }

    /// Makes the server compute its statistics of the tables again, because the old ones contain deleted values. The
    /// server would keep the old statistics of an empty table. Therefore each empty table gets a temporary row that no
    /// other transaction sees.
    ///
    /// - Returns: The id of the transaction that did this.
    private func forgetValues(_ partitions: [(name: String, from: Double)]) throws(TrackingError) -> String {
        let columns = "trackable, time, stream, seq, clock_fault, latitude, longitude"
        let tables =
            Self.tables + partitions.map { (name: $0.name, columns: columns, row: "0, \($0.from), 0, 0, 0, 0, 0") }
        try self.connection.runAll("BEGIN")
        var clearing: [String] = []
        for table in tables where !table.columns.isEmpty {
            let isEmpty = try self.connection.run("SELECT 1::bigint FROM \(table.name) LIMIT 1").count == 0
            guard isEmpty else { continue }
            try self.connection.runAll("INSERT INTO \(table.name) (\(table.columns)) VALUES (\(table.row))")
            let key = table.columns.prefix { $0 != "," }
            clearing.append("DELETE FROM \(table.name) WHERE \(key) = \(table.row.prefix { $0 != "," })")
        }
        try self.connection.runAll("ANALYZE point, \(Self.tables.map(\.name).joined(separator: ", "))")
        for statement in clearing { try self.connection.runAll(statement) }
        let transaction = try self.connection.run("SELECT pg_current_xact_id()::text").text(0, 0)
        try self.connection.runAll("COMMIT")
        return transaction
    }

    /// Waits, at most 3 s, until the snapshots of all other transactions are newer than the given transaction. Before
    /// that, another transaction could still read the deleted rows, and a rewritten table would contain them.
    ///
    /// - Parameter transaction: The id of the transaction.
    /// - Returns: `true` if all snapshots are newer; `false` if an older one remains after the wait.
    private func isBehindAll(_ transaction: String) throws(TrackingError) -> Bool {
        // A transaction in another database counts only if it writes.
        let isBehind = """
            SELECT 1::bigint WHERE pg_snapshot_xmin(pg_current_snapshot()) > '\(transaction)'::xid8 AND NOT EXISTS \
            (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
            AND age(backend_xmin) >= age('\(transaction)'::xid8::xid))
            """
        for _ in 0..<(Self.patience / 50) {
            if try self.connection.run(isBehind).count > 0 { return true }
            usleep(50_000)  // on the connection's own thread; the server tells nobody when a transaction ends
        }
        return false
    }

    /// Rewrites the file of a table.
    ///
    /// - Returns: `true` if the server rewrote the table. The server skips a table of another owner with a warning.
    private func isWrittenAnew(_ table: String) throws(TrackingError) -> Bool {
        let file = "SELECT pg_relation_filenode('\(table)')::bigint"
        let before = try self.connection.run(file).integer(0, 0)
        try self.connection.runAll("VACUUM FULL \(table)")
        return try self.connection.run(file).integer(0, 0) != before
    }
}
