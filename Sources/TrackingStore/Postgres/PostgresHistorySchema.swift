import TrackingCore

/// The tables of a history in PostgreSQL, in the database schema `godwit`. They correspond to the tables of
/// ``SQLiteHistorySchema``.
enum PostgresHistorySchema {
    /// The name of the PostgreSQL schema in which the history's tables are.
    static let name = "godwit"
    /// The version of the history's tables. A database with another version, in the table `schema_version`, cannot be
    /// opened.
    static let version = 1

    /// The number of the PostgreSQL advisory lock that a program holds while it creates the tables: the bytes of
    /// "GdWt".
    private static let lock = 0x4764_5774

    /// The error for a database without a history when none may be made.
    static let missing = TrackingError(
        .storeFailed,
        "cannot find a history of Godwit in the PostgreSQL database: it has no schema \(name). Name another database with --store, or create the history with godwit record or godwit import"
    )

    /// Configures a connection, and makes the tables where the database has none.
    ///
    /// - Parameter mayMake: `false` to create nothing; a database without tables is then an error.
    /// - Throws: `storeUnusable` when the tables have another version; ``missing`` when the database has none and
    ///   `mayMake` is `false`; `storeFailed`.
    static func prepare(_ connection: PostgresConnection, mayMake: Bool) throws(TrackingError) {
        try connection.runAll(self.session)
        if try self.isEmpty(connection) {
            guard mayMake else { throw self.missing }
            try self.makeTablesAlone(connection)
        }
        try connection.runAll(self.searchPath(isLocal: false))
    }

    /// The statements that configure a connection. The server ends a transaction whose program is gone or idle, because
    /// other programs wait for its locks. It does not compile queries (`jit`): with many partitions, that takes longer
    /// than the query.
    static let session = """
        SET client_min_messages = warning; SET synchronous_commit = on; SET jit = off; SET idle_in_transaction_session_timeout = '120s';
        SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET tcp_user_timeout = '15s'
        """

    /// Returns the SQL that sets the search path to the history's schema, the schema `public`, and the schema in which
    /// an administrator installed PostGIS. With `isLocal`, it applies to the current transaction only.
    private static func searchPath(isLocal: Bool) -> String {
        """
        SELECT set_config('search_path', concat_ws(', ', '\(self.name)', 'public', (SELECT quote_ident(n.nspname)
            FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'postgis')), \(isLocal))
        """
    }

    private static func makeTablesAlone(_ connection: PostgresConnection) throws(TrackingError) {
        try connection.runAll("SELECT pg_advisory_lock(\(self.lock))")
        do throws(TrackingError) {
            // Another program may have made the tables before it released the lock.
            if try self.isEmpty(connection) { try connection.runAll("BEGIN; \(self.statements); COMMIT") }
        } catch {
            if connection.isInTransaction { try? connection.runAll("ROLLBACK") }
            try? connection.runAll("SELECT pg_advisory_unlock(\(self.lock))")
            throw error
        }
        try connection.runAll("SELECT pg_advisory_unlock(\(self.lock))")
    }

    /// Returns `true` if the database has no tables of a history, and `false` if they have the expected version.
    ///
    /// - Throws: `storeUnusable` if they have another version; `storeFailed`.
    private static func isEmpty(_ connection: PostgresConnection) throws(TrackingError) -> Bool {
        let exists = try connection.run("SELECT 1::bigint FROM pg_namespace WHERE nspname = '\(self.name)'").count > 0
        guard exists else { return true }
        let version = Int(try connection.run("SELECT version FROM \(self.name).schema_version").integer(0, 0))
        guard version == self.version else {
            throw TrackingError(
                .storeUnusable,
                "cannot open the history in PostgreSQL: its schema \(self.name) has version \(version), and this program "
                    + "expects version \(self.version). Use the program that made the history, or name another database"
            )
        }
        return false
    }

    /// The statements that create the schema, the tables and the views.
    ///
    /// The rows of `trackable` and `coverage` are not written again with each new point. They may therefore lack a
    /// trackable's last points (see ``RecordingLedger``). The views `last_position` and `streams` take the missing
    /// values from `point`.
    private static let statements = """
        CREATE EXTENSION IF NOT EXISTS postgis;
        CREATE SCHEMA \(name);
        \(searchPath(isLocal: true));
        CREATE TABLE schema_version (version bigint NOT NULL);
        INSERT INTO schema_version VALUES (\(version));
        CREATE TABLE trackable (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE,
            changes bigint NOT NULL DEFAULT 0, erased_before float8, recent text NOT NULL DEFAULT '',
            last_time float8, last_stream bigint, last_seq bigint, run_first float8, run_last float8,
            run_south float8, run_west float8, run_north float8, run_east float8, run_count bigint)
            WITH (fillfactor = 70);
        CREATE TABLE stream (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, trackable bigint NOT NULL,
            id text COLLATE "C" NOT NULL, last bigint, duplicates bigint NOT NULL DEFAULT 0,
            clock_faults bigint NOT NULL DEFAULT 0, UNIQUE (trackable, id));
        CREATE TABLE coverage (stream bigint NOT NULL, first bigint NOT NULL, last bigint NOT NULL, mark bigint NOT NULL,
            PRIMARY KEY (stream, first)) WITH (fillfactor = 70);
        CREATE TABLE turn (holder bigint NOT NULL);
        INSERT INTO turn VALUES (0);
        CREATE TABLE point (trackable bigint NOT NULL, time float8 NOT NULL, stream bigint NOT NULL, seq bigint NOT NULL,
            clock_fault bigint NOT NULL, latitude float8 NOT NULL, longitude float8 NOT NULL, altitude float8,
            accuracy_horizontal float8, accuracy_vertical float8, bearing float8, accuracy_bearing float8, speed float8,
            accuracy_speed float8, floor bigint, battery_level float8, mode bigint, motion bigint, trip text, source bigint,
            extra text, PRIMARY KEY (trackable, time, stream, seq)) PARTITION BY RANGE (time);
        CREATE TABLE point_other PARTITION OF point DEFAULT;
        CREATE TABLE run (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, trackable bigint NOT NULL,
            first float8 NOT NULL, last float8 NOT NULL, south float8 NOT NULL, west float8 NOT NULL, north float8 NOT NULL,
            east float8 NOT NULL, count bigint NOT NULL, box geometry(Geometry, 4326) GENERATED ALWAYS AS
            (ST_MakeEnvelope(west, south, east, north, 4326)) STORED);
        CREATE INDEX run_time ON run (trackable, first);
        CREATE INDEX run_box ON run USING gist (box);
        CREATE TABLE trip (trackable bigint NOT NULL, id text COLLATE "C" NOT NULL, mode text NOT NULL, state text NOT NULL,
            start float8 NOT NULL, "end" float8, distance float8 NOT NULL, duration float8 NOT NULL, stream bigint NOT NULL,
            seq bigint NOT NULL, json text NOT NULL, PRIMARY KEY (trackable, id));
        CREATE INDEX trip_start ON trip (trackable, start);
        CREATE TABLE event (trackable bigint NOT NULL, time float8 NOT NULL, stream bigint NOT NULL, seq bigint NOT NULL,
            id text NOT NULL, kind text NOT NULL, json text NOT NULL, PRIMARY KEY (trackable, time, stream, seq));
        CREATE TABLE state (trackable bigint NOT NULL, name text NOT NULL, received float8 NOT NULL, json text,
            PRIMARY KEY (trackable, name, received));
        CREATE TABLE quarantine (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, received float8 NOT NULL,
            topic text NOT NULL, trackable text, stream text, seq bigint, reason text NOT NULL, payload bytea NOT NULL);
        CREATE VIEW points AS SELECT \(pointColumns) FROM point p \(pointJoins);
        CREATE VIEW last_position AS SELECT \(pointColumns) FROM trackable k CROSS JOIN LATERAL (\(last)) p
            \(pointJoins);
        CREATE VIEW trips AS SELECT t.id AS trackable, r.id AS trip, r.mode, r.state, r.start, r."end",
            to_timestamp(r.start) AS started_at, to_timestamp(r."end") AS ended_at, r.distance, r.duration, r.json
            FROM trip r JOIN trackable t ON t.number = r.trackable;
        CREATE VIEW streams AS SELECT t.id AS trackable, s.id AS stream, c.first,
            CASE WHEN c.mark = 1 AND s.number = t.last_stream AND t.last_seq BETWEEN c.first AND c.last
            THEN greatest(c.last, (SELECT q.seq FROM point q WHERE q.trackable = t.number AND q.time > t.last_time
            AND q.stream = t.last_stream AND q.seq > t.last_seq AND q.clock_fault = 0 ORDER BY q.time DESC LIMIT 1))
            ELSE c.last END AS last,
            CASE c.mark WHEN 0 THEN 'erased' WHEN 1 THEN 'stored' WHEN 2 THEN 'refused' WHEN 3 THEN 'gone'
            WHEN 4 THEN 'below oldest' END AS mark, s.duplicates, s.clock_faults
            FROM coverage c JOIN stream s ON s.number = c.stream JOIN trackable t ON t.number = s.trackable
        """

    /// The SQL subquery for the newest point of trackable `k`, which the outer query selects. Points with a wrong clock
    /// or the place [0, 0] are ignored. Of several points with the same time, the one with the highest stream key
    /// counts.
    static let last = """
        SELECT * FROM point q WHERE q.trackable = k.number AND q.time >= k.last_time AND q.clock_fault = 0
        ORDER BY q.time DESC, q.stream DESC, q.seq DESC LIMIT 1
        """

    /// The SQL subquery for the newest points of trackable `k`, which the outer query selects: usually one, or several
    /// with the same time. Points with a wrong clock or the place [0, 0] are ignored.
    static let newest = """
        SELECT q.* FROM point q WHERE q.trackable = k.number AND q.time >= k.last_time AND q.clock_fault = 0
        ORDER BY q.time DESC FETCH FIRST ROW WITH TIES
        """

    /// The SQL subquery for the time of the newest point of trackable `k`, which the outer query selects. Points with a
    /// wrong clock or the place [0, 0] are ignored.
    static let lastTime = """
        (SELECT q.time FROM point q WHERE q.trackable = k.number AND q.time >= k.last_time AND q.clock_fault = 0
        ORDER BY q.time DESC LIMIT 1)
        """

    private static let pointColumns = """
        t.id AS trackable, p.time, to_timestamp(p.time) AS at, s.id AS stream,
        CASE WHEN p.stream <> 0 THEN p.seq END AS seq, p.latitude, p.longitude,
        ST_SetSRID(ST_MakePoint(p.longitude, p.latitude), 4326) AS place, p.altitude, p.accuracy_horizontal,
        p.accuracy_vertical, p.bearing, p.accuracy_bearing, p.speed, p.accuracy_speed, p.floor, p.battery_level,
        \(CodeWords.sql("p.mode", TrackingMode.self, \.code)) AS mode, \(motionWords) AS motion, p.trip,
        \(CodeWords.sql("p.source", SourceKind.self, \.code)) AS source, p.extra, p.clock_fault
        """

    /// The SQL expression for a point's kinds of motion, as words separated by commas.
    private static let motionWords =
        "nullif(concat_ws(','"
        + Motion.allCases.map { ", CASE WHEN p.motion & \($0.bit) <> 0 THEN '\($0.rawValue)' END" }.joined() + "), '')"

    private static let pointJoins =
        "JOIN trackable t ON t.number = p.trackable LEFT JOIN stream s ON s.number = p.stream"
}
