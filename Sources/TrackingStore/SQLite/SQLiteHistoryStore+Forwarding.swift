import GRDB
import Synchronization
public import TrackingCore
import TrackingSQLite

/// The queues of the points that are forwarded to sinks, in SQLite. The tables exist only once a forwarder has used the
/// history.
extension SQLiteHistoryStore: ForwardingStore {
    /// Sets the sinks of the history. See ``ForwardingStore/beginForwarding(to:)``.
    public func beginForwarding(to sinks: [String]) async throws(TrackingError) {
        let claim = try await self.write { db, _ in
            for statement in Self.forwardingTables { try db.execute(sql: statement) }
            let known = try String.fetchAll(db, sql: "SELECT name FROM forward_sink")
            for name in known where !sinks.contains(name) {
                for table in ["forward_queue", "forward_quarantine"] {
                    try db.execute(
                        sql: "DELETE FROM \(table) WHERE sink = (SELECT number FROM forward_sink WHERE name = ?)",
                        arguments: [name])
                }
                try db.execute(sql: "DELETE FROM forward_sink WHERE name = ?", arguments: [name])
            }
            for name in sinks where !known.contains(name) {
                try db.execute(sql: "INSERT INTO forward_sink (name) VALUES (?)", arguments: [name])
                try db.execute(
                    sql: """
                        INSERT INTO forward_queue (sink, trackable, time, stream, seq)
                        SELECT ?, trackable, time, stream, seq FROM point ORDER BY time
                        """, arguments: [db.lastInsertedRowID])
            }
            try db.execute(sql: "INSERT INTO forward_claim DEFAULT VALUES")
            let claim = db.lastInsertedRowID
            try db.execute(sql: "DELETE FROM forward_claim WHERE number < ?", arguments: [claim])
            return claim
        }
        self.forwardingClaim.withLock { $0 = claim }
    }

    /// Returns the oldest points in the queue of a sink, and leaves them there. See ``ForwardingStore/nextForwarded(to:except:limit:)``.
    public func nextForwarded(
        to sink: String, except numbers: [Int64], limit: Int
    ) async throws(TrackingError) -> ForwardPage {
        let leftOut = "[\(numbers.map(String.init).joined(separator: ","))]"
        let claim = self.forwardingClaim.withLock { $0 }
        return try await self.read { db in
            let last = try Int64.fetchOne(db, sql: "SELECT max(number) FROM forward_claim")
            guard claim == last else { throw TrackingError.forwardingTakenOver }
            let row = try DirectStatement(Self.nextForwarded, in: db)
            defer { row.reset() }
            row.bind(sink, 1)
            row.bind(Int64(ForwardPage.searchedEntries), 2)
            row.bind(Int64(max(1, limit)) + 1, 3)
            row.bind(leftOut, 4)
            var page = ForwardPage.empty
            while try row.step() {
                guard page.entries.count < max(1, limit) else {
                    page.hasMore = true
                    break
                }
                page.trackable = try TrackableID(row.text(PointReading.columnCount + 1))
                let isFaulty = row.isNull(4) || row.integer(3) != 0
                page.entries.append(
                    ForwardPage.Entry(
                        number: row.integer(PointReading.columnCount + 2),
                        location: isFaulty
                            ? nil : PointReading.location(row, row.optionalText(PointReading.columnCount))))
            }
            return page
        }
    }

    /// Removes acknowledged points from the queues. See ``ForwardingStore/removeForwarded(_:)``.
    public func removeForwarded(_ numbers: [Int64]) async throws(TrackingError) {
        try await self.write { db, _ in
            let statement = try DirectStatement("DELETE FROM forward_queue WHERE number = ?", in: db)
            for number in numbers {
                statement.bind(number, 1)
                try statement.run()
            }
        }
    }

    /// Moves points from the queues to the quarantine. See ``ForwardingStore/quarantineForwarded(_:because:)``.
    public func quarantineForwarded(_ numbers: [Int64], because reason: String) async throws(TrackingError) {
        try await self.write { db, _ in
            for number in numbers {
                try db.execute(
                    sql: """
                        INSERT INTO forward_quarantine (sink, trackable, time, stream, seq, reason) \
                        SELECT sink, trackable, time, stream, seq, ? FROM forward_queue WHERE number = ?
                        """, arguments: [reason, number])
                try db.execute(sql: "DELETE FROM forward_queue WHERE number = ?", arguments: [number])
            }
        }
    }

    private static let nextForwarded = """
        WITH front AS (SELECT * FROM forward_queue WHERE sink = (SELECT number FROM forward_sink WHERE name = ?1) \
        AND number NOT IN (SELECT value FROM json_each(?4)) ORDER BY number LIMIT ?2) \
        SELECT \(PointReading.columns), s.id, t.id, q.number FROM front q JOIN trackable t ON t.number = q.trackable \
        LEFT JOIN point p ON p.trackable = q.trackable AND p.time = q.time AND p.stream = q.stream AND p.seq = q.seq \
        LEFT JOIN stream s ON s.number = q.stream \
        WHERE q.trackable = (SELECT trackable FROM front ORDER BY number LIMIT 1) ORDER BY q.number LIMIT ?3
        """

    /// The statements that create the tables of the queues, and the triggers that fill them. A removed or erased point
    /// leaves the queues too.
    private static let forwardingTables = [
        "CREATE TABLE IF NOT EXISTS forward_sink (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
        """
        CREATE TABLE IF NOT EXISTS forward_queue (number INTEGER PRIMARY KEY AUTOINCREMENT, sink INTEGER NOT NULL, \
        trackable INTEGER NOT NULL, time REAL NOT NULL, stream INTEGER NOT NULL, seq INTEGER NOT NULL) STRICT
        """,
        """
        CREATE TABLE IF NOT EXISTS forward_quarantine (number INTEGER PRIMARY KEY, sink INTEGER NOT NULL, \
        trackable INTEGER NOT NULL, time REAL NOT NULL, stream INTEGER NOT NULL, seq INTEGER NOT NULL, \
        reason TEXT NOT NULL) STRICT
        """,
        "CREATE TABLE IF NOT EXISTS forward_claim (number INTEGER PRIMARY KEY AUTOINCREMENT) STRICT",
        "CREATE INDEX IF NOT EXISTS forward_order ON forward_queue (sink, number)",
        "CREATE INDEX IF NOT EXISTS forward_rejected ON forward_quarantine (trackable, time, stream, seq)",
        "CREATE INDEX IF NOT EXISTS forward_point ON forward_queue (trackable, time, stream, seq)",
        """
        CREATE TRIGGER IF NOT EXISTS forward_stored AFTER INSERT ON point BEGIN \
        INSERT INTO forward_queue (sink, trackable, time, stream, seq) \
        SELECT number, NEW.trackable, NEW.time, NEW.stream, NEW.seq FROM forward_sink; END
        """,
        """
        CREATE TRIGGER IF NOT EXISTS forward_removed AFTER DELETE ON point BEGIN \
        DELETE FROM forward_queue WHERE trackable = OLD.trackable AND time = OLD.time AND stream = OLD.stream \
        AND seq = OLD.seq; END
        """,
        """
        CREATE TRIGGER IF NOT EXISTS forward_erased AFTER DELETE ON point BEGIN \
        DELETE FROM forward_quarantine WHERE trackable = OLD.trackable AND time = OLD.time AND stream = OLD.stream \
        AND seq = OLD.seq; END
        """,
        """
        CREATE TRIGGER IF NOT EXISTS forward_corrected AFTER UPDATE OF clock_fault ON point \
        WHEN OLD.clock_fault <> 0 AND NEW.clock_fault = 0 BEGIN \
        DELETE FROM forward_queue WHERE trackable = NEW.trackable AND time = NEW.time AND stream = NEW.stream \
        AND seq = NEW.seq; \
        INSERT INTO forward_queue (sink, trackable, time, stream, seq) \
        SELECT number, NEW.trackable, NEW.time, NEW.stream, NEW.seq FROM forward_sink; END
        """,
    ]
}
