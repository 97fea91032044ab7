import Synchronization
public import TrackingCore

/// The queues of the points that are forwarded to sinks, in PostgreSQL. The tables exist only once a forwarder has used
/// the history.
extension PostgresHistoryStore: ForwardingStore {
    /// Sets the sinks of the history. See ``ForwardingStore/beginForwarding(to:)``.
    public func beginForwarding(to sinks: [String]) async throws(TrackingError) {
        let claim = try await self.writer.perform { connection throws(TrackingError) in
            guard try Self.sinks(connection) != sinks.sorted() else { return try Self.claim(connection) }
            try connection.runAll("BEGIN; \(Self.forwardingTables)")
            // No point may be stored between the filling of a new queue and the commit.
            try connection.runAll("LOCK TABLE point IN SHARE ROW EXCLUSIVE MODE")
            let names = PostgresValue.texts(sinks)
            for table in ["forward_queue", "forward_quarantine"] {
                _ = try connection.run(
                    "DELETE FROM \(table) WHERE sink IN (SELECT number FROM forward_sink WHERE name <> ALL ($1))",
                    [names])
            }
            _ = try connection.run("DELETE FROM forward_sink WHERE name <> ALL ($1)", [names])
            _ = try connection.run(
                """
                WITH new AS (INSERT INTO forward_sink (name) SELECT unnest($1) ON CONFLICT DO NOTHING RETURNING number)
                INSERT INTO forward_queue (sink, trackable, time, stream, seq)
                SELECT new.number, p.trackable, p.time, p.stream, p.seq FROM new, point p ORDER BY p.time
                """, [names])
            let claim = try Self.claim(connection)
            try connection.runAll("COMMIT")
            return claim
        }
        self.forwardingClaim.withLock { $0 = claim }
    }

    /// Makes this program the forwarder of the history, and returns the number by which the history knows it.
    private static func claim(_ connection: PostgresConnection) throws(TrackingError) -> Int64 {
        try connection.run("UPDATE forward_claim SET number = number + 1 RETURNING number").integer(0, 0)
    }

    /// Returns the names of the known sinks, sorted; `nil` if the history lacks a table of the queues.
    private static func sinks(_ connection: PostgresConnection) throws(TrackingError) -> [String]? {
        let table = "\(PostgresHistorySchema.name).forward_claim"
        guard try !connection.run("SELECT to_regclass('\(table)')::text").isNull(0, 0) else { return nil }
        let rows = try connection.run("SELECT name FROM forward_sink")
        return (0..<rows.count).map { rows.text($0, 0) }.sorted()
    }

    /// Returns the next points in the queue of a sink. See ``ForwardingStore/nextForwarded(to:except:limit:)``.
    public func nextForwarded(
        to sink: String, except numbers: [Int64], limit: Int
    ) async throws(TrackingError) -> ForwardPage {
        let claim = self.forwardingClaim.withLock { $0 }
        return try await self.reader.perform { connection throws(TrackingError) in
            let last = try connection.run("SELECT number FROM forward_claim").integer(0, 0)
            guard claim == last else { throw TrackingError.forwardingTakenOver }
            let rows = try connection.run(
                Self.nextForwarded,
                [
                    .text(sink), .int(Int64(ForwardPage.searchedEntries)), .int(Int64(max(1, limit)) + 1),
                    .ints(numbers),
                ])
            var page = ForwardPage.empty
            page.hasMore = rows.count > max(1, limit)
            for row in 0..<min(rows.count, max(1, limit)) {
                page.trackable = try TrackableID(rows.text(row, PostgresPointReading.columnCount))
                let isFaulty = rows.isNull(row, 4) || rows.integer(row, 3) != 0
                page.entries.append(
                    ForwardPage.Entry(
                        number: rows.integer(row, PostgresPointReading.columnCount + 1),
                        location: isFaulty ? nil : PostgresPointReading.location(rows, row)))
            }
            return page
        }
    }

    /// Removes acknowledged points from the queues. See ``ForwardingStore/removeForwarded(_:)``.
    public func removeForwarded(_ numbers: [Int64]) async throws(TrackingError) {
        try await self.writer.perform { connection throws(TrackingError) in
            _ = try connection.run("DELETE FROM forward_queue WHERE number = ANY ($1)", [.ints(numbers)])
        }
    }

    /// Moves points from the queues to the quarantine. See ``ForwardingStore/quarantineForwarded(_:because:)``.
    public func quarantineForwarded(_ numbers: [Int64], because reason: String) async throws(TrackingError) {
        try await self.writer.perform { connection throws(TrackingError) in
            _ = try connection.run(
                """
                WITH moved AS (DELETE FROM forward_queue WHERE number = ANY ($1) RETURNING *)
                INSERT INTO forward_quarantine (sink, trackable, time, stream, seq, reason)
                SELECT sink, trackable, time, stream, seq, $2 FROM moved
                """, [.ints(numbers), .text(reason)])
        }
    }

    private static let nextForwarded = """
        WITH front AS (SELECT * FROM forward_queue WHERE sink = (SELECT number FROM forward_sink WHERE name = $1) \
        AND number <> ALL ($4) ORDER BY number LIMIT $2) \
        SELECT \(PostgresPointReading.columns), s.id, t.id, q.number FROM front q JOIN trackable t ON t.number = q.trackable \
        LEFT JOIN point p ON p.trackable = q.trackable AND p.time = q.time AND p.stream = q.stream AND p.seq = q.seq \
        LEFT JOIN stream s ON s.number = q.stream \
        WHERE q.trackable = (SELECT trackable FROM front ORDER BY number LIMIT 1) ORDER BY q.number LIMIT $3
        """

    /// The statements that create the tables of the queues, and the triggers that fill them. A point that is removed or
    /// erased by a statement leaves the queues too.
    private static let forwardingTables = """
        CREATE TABLE IF NOT EXISTS forward_sink (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL UNIQUE);
        CREATE TABLE IF NOT EXISTS forward_queue (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            sink bigint NOT NULL, trackable bigint NOT NULL, time float8 NOT NULL, stream bigint NOT NULL,
            seq bigint NOT NULL);
        CREATE TABLE IF NOT EXISTS forward_quarantine (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            sink bigint NOT NULL, trackable bigint NOT NULL, time float8 NOT NULL, stream bigint NOT NULL,
            seq bigint NOT NULL, reason text NOT NULL);
        CREATE TABLE IF NOT EXISTS forward_claim (number bigint NOT NULL);
        INSERT INTO forward_claim SELECT 0 WHERE NOT EXISTS (SELECT FROM forward_claim);
        CREATE INDEX IF NOT EXISTS forward_order ON forward_queue (sink, number);
        CREATE INDEX IF NOT EXISTS forward_rejected ON forward_quarantine (trackable, time, stream, seq);
        CREATE INDEX IF NOT EXISTS forward_point ON forward_queue (trackable, time, stream, seq);
        CREATE OR REPLACE FUNCTION forward_stored() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO \(PostgresHistorySchema.name).forward_queue (sink, trackable, time, stream, seq)
            SELECT number, NEW.trackable, NEW.time, NEW.stream, NEW.seq FROM \(PostgresHistorySchema.name).forward_sink;
            RETURN NULL; END $$;
        CREATE OR REPLACE FUNCTION forward_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF current_setting('godwit.is_moving', true) = 'on' THEN RETURN NULL; END IF;
            DELETE FROM \(PostgresHistorySchema.name).forward_queue WHERE trackable = OLD.trackable AND time = OLD.time
            AND stream = OLD.stream AND seq = OLD.seq;
            DELETE FROM \(PostgresHistorySchema.name).forward_quarantine WHERE trackable = OLD.trackable
            AND time = OLD.time AND stream = OLD.stream AND seq = OLD.seq; RETURN NULL; END $$;
        CREATE OR REPLACE FUNCTION forward_corrected() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            DELETE FROM \(PostgresHistorySchema.name).forward_queue WHERE trackable = NEW.trackable AND time = NEW.time
            AND stream = NEW.stream AND seq = NEW.seq;
            INSERT INTO \(PostgresHistorySchema.name).forward_queue (sink, trackable, time, stream, seq)
            SELECT number, NEW.trackable, NEW.time, NEW.stream, NEW.seq FROM \(PostgresHistorySchema.name).forward_sink;
            RETURN NULL; END $$;
        DROP TRIGGER IF EXISTS forward_stored ON point;
        DROP TRIGGER IF EXISTS forward_removed ON point;
        DROP TRIGGER IF EXISTS forward_corrected ON point;
        CREATE TRIGGER forward_stored AFTER INSERT ON point FOR EACH ROW EXECUTE FUNCTION forward_stored();
        CREATE TRIGGER forward_removed AFTER DELETE ON point FOR EACH ROW EXECUTE FUNCTION forward_removed();
        CREATE TRIGGER forward_corrected AFTER UPDATE OF clock_fault ON point FOR EACH ROW
            WHEN (OLD.clock_fault <> 0 AND NEW.clock_fault = 0) EXECUTE FUNCTION forward_corrected()
        """
}
