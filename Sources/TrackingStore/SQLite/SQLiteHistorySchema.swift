import GRDB
import TrackingCore

/// The definition of the tables, indexes and views of a history in SQLite, and their creation in an empty file.
enum SQLiteHistorySchema {
    /// The number in SQLite's `PRAGMA application_id` that identifies a history file: "GdWt" in ASCII.
    static let applicationID: Int64 = 0x4764_5774
    /// The version of the history's tables, which the file stores in `PRAGMA user_version`. A file with another version
    /// is not opened.
    static let version = 1

    /// Creates the tables in an empty file. In any other file, checks that it is a history of this version.
    ///
    /// - Throws: `storeUnusable` when the file is not a history, has another version, or is empty and opened for
    ///   reading only.
    static func prepare(_ db: Database, path: String) throws {
        var isEmpty = false
        try db.inTransaction(.deferred) {
            isEmpty = try Self.isEmpty(db, path: path)
            return .commit
        }
        guard isEmpty else { return }
        guard !db.configuration.readonly else {
            throw TrackingError(
                .storeUnusable,
                "cannot read the history \(path): the file is empty. Name a file that a recorder has written")
        }
        try db.inTransaction(.immediate) {
            // Another program may have made the tables since the first look.
            if try Self.isEmpty(db, path: path) { try Self.makeTables(db) }
            return .commit
        }
    }

    /// Returns `true` if the file has no tables, and `false` if it is a history of the expected version.
    ///
    /// - Throws: `storeUnusable` for any other database.
    private static func isEmpty(_ db: Database, path: String) throws -> Bool {
        guard try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") != 0 else { return true }
        guard try Int64.fetchOne(db, sql: "PRAGMA application_id") == Self.applicationID else {
            throw TrackingError(
                .storeUnusable,
                "cannot open the history \(path): it is a database of another program. Name another file")
        }
        let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        guard version == Self.version else {
            throw TrackingError(
                .storeUnusable,
                "cannot open the history \(path): it has version \(version), and this program expects version "
                    + "\(Self.version). Use the program that made the history, or name another file")
        }
        return false
    }

    private static func makeTables(_ db: Database) throws {
        try db.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
        for statement in Self.statements { try db.execute(sql: statement) }
        try db.execute(sql: "PRAGMA user_version = \(Self.version)")
    }

    /// The statements that create the tables, indexes and views, in order.
    ///
    /// The rows of `trackable` and `coverage` are not updated with every point (see ``RecordingLedger``). They may lack
    /// the latest points of a trackable. The views `last_position` and `streams` add these points from the table
    /// `point`.
    private static let statements = [
        """
        CREATE TABLE trackable (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, erased_before REAL, recent TEXT NOT NULL, \
        last_time REAL, last_stream INTEGER, last_seq INTEGER, \
        run_first REAL, run_last REAL, run_south REAL, run_west REAL, run_north REAL, run_east REAL, run_count INTEGER) STRICT
        """,
        """
        CREATE TABLE stream (number INTEGER PRIMARY KEY, trackable INTEGER NOT NULL, id TEXT NOT NULL, last INTEGER, \
        duplicates INTEGER NOT NULL, clock_faults INTEGER NOT NULL, UNIQUE (trackable, id)) STRICT
        """,
        """
        CREATE TABLE coverage (stream INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, mark INTEGER NOT NULL, \
        PRIMARY KEY (stream, first)) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE point (trackable INTEGER NOT NULL, time REAL NOT NULL, stream INTEGER NOT NULL, seq INTEGER NOT NULL, \
        clock_fault INTEGER NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL, altitude REAL, \
        accuracy_horizontal REAL, accuracy_vertical REAL, bearing REAL, accuracy_bearing REAL, speed REAL, \
        accuracy_speed REAL, floor INTEGER, battery_level REAL, mode INTEGER, motion INTEGER, trip TEXT, source INTEGER, \
        extra TEXT, PRIMARY KEY (trackable, time, stream, seq)) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE run (number INTEGER PRIMARY KEY, trackable INTEGER NOT NULL, first REAL NOT NULL, last REAL NOT NULL, \
        south REAL NOT NULL, west REAL NOT NULL, north REAL NOT NULL, east REAL NOT NULL, count INTEGER NOT NULL) STRICT
        """,
        "CREATE INDEX run_time ON run (trackable, first)",
        "CREATE VIRTUAL TABLE run_box USING rtree (number, south, north, west, east)",
        """
        CREATE TABLE trip (trackable INTEGER NOT NULL, id TEXT NOT NULL, mode TEXT NOT NULL, state TEXT NOT NULL, \
        start REAL NOT NULL, "end" REAL, distance REAL NOT NULL, duration REAL NOT NULL, stream INTEGER NOT NULL, \
        seq INTEGER NOT NULL, json TEXT NOT NULL, UNIQUE (trackable, id)) STRICT
        """,
        "CREATE INDEX trip_start ON trip (trackable, start)",
        """
        CREATE TABLE event (trackable INTEGER NOT NULL, time REAL NOT NULL, stream INTEGER NOT NULL, seq INTEGER NOT NULL, \
        id TEXT NOT NULL, kind TEXT NOT NULL, json TEXT NOT NULL, \
        PRIMARY KEY (trackable, time, stream, seq)) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE state (trackable INTEGER NOT NULL, name TEXT NOT NULL, received REAL NOT NULL, json TEXT, \
        PRIMARY KEY (trackable, name, received)) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE quarantine (number INTEGER PRIMARY KEY, received REAL NOT NULL, topic TEXT NOT NULL, trackable TEXT, \
        stream TEXT, seq INTEGER, reason TEXT NOT NULL, payload BLOB NOT NULL) STRICT
        """,
        "CREATE VIEW points AS SELECT \(pointColumns) FROM point p \(pointJoins)",
        """
        CREATE VIEW last_position AS SELECT \(pointColumns) FROM trackable k JOIN point p ON p.trackable = k.number \
        AND \(isLast) \(pointJoins)
        """,
        """
        CREATE VIEW trips AS SELECT t.id AS trackable, r.id AS trip, r.mode, r.state, r.start, r."end", \
        \(at("r.start")) AS started_at, \(at("r.\"end\"")) AS ended_at, r.distance, r.duration, r.json \
        FROM trip r JOIN trackable t ON t.number = r.trackable
        """,
        """
        CREATE VIEW streams AS SELECT t.id AS trackable, s.id AS stream, c.first, \
        iif(c.mark = 1 AND s.number = t.last_stream AND t.last_seq BETWEEN c.first AND c.last, \
        max(c.last, coalesce((SELECT max(p.seq) FROM point p WHERE p.trackable = t.number AND p.time > t.last_time \
        AND p.stream = t.last_stream AND p.seq > t.last_seq AND p.clock_fault = 0), 0)), c.last) AS last, \
        CASE c.mark WHEN 0 THEN 'erased' WHEN 1 THEN 'stored' WHEN 2 THEN 'refused' WHEN 3 THEN 'gone' \
        WHEN 4 THEN 'below oldest' END AS mark, s.duplicates, s.clock_faults \
        FROM coverage c JOIN stream s ON s.number = c.stream JOIN trackable t ON t.number = s.trackable
        """,
    ]

    /// The SQL condition that point `p` is the newest point of trackable `k`. Points with a wrong clock or the place
    /// [0, 0] are ignored. Of several points with the same time, the one with the highest stream key counts.
    static let isLast = """
        (p.time, p.stream, p.seq) = (SELECT q.time, q.stream, q.seq FROM point q WHERE q.trackable = k.number \
        AND q.time >= k.last_time AND q.clock_fault = 0 ORDER BY q.time DESC, q.stream DESC, q.seq DESC LIMIT 1)
        """

    /// The SQL condition that point `p` is the newest point of trackable `k`. Points with a wrong clock or the place
    /// [0, 0] are ignored. Of several points with the same time, the one with the last stream name counts.
    static let isLastByName = """
        (p.time, p.stream, p.seq) = (SELECT q.time, q.stream, q.seq FROM point q LEFT JOIN stream o ON o.number = q.stream \
        WHERE q.trackable = k.number AND q.time >= k.last_time AND q.clock_fault = 0 \
        ORDER BY q.time DESC, o.id DESC, q.seq DESC LIMIT 1)
        """

    /// An SQL expression for the time of the newest point of trackable `k`. Points with a wrong clock or the place [0,
    /// 0] are ignored.
    static let lastTime = """
        (SELECT max(q.time) FROM point q WHERE q.trackable = k.number AND q.time >= k.last_time AND q.clock_fault = 0)
        """

    private static func at(_ column: String) -> String { "strftime('%Y-%m-%dT%H:%M:%fZ', \(column), 'unixepoch')" }

    private static let pointColumns = """
        t.id AS trackable, p.time, \(at("p.time")) AS at, s.id AS stream, iif(p.stream = 0, NULL, p.seq) AS seq, \
        p.latitude, p.longitude, p.altitude, p.accuracy_horizontal, p.accuracy_vertical, p.bearing, p.accuracy_bearing, \
        p.speed, p.accuracy_speed, p.floor, p.battery_level, \(CodeWords.sql("p.mode", TrackingMode.self, \.code)) AS mode, \
        \(motionWords) AS motion, p.trip, \(CodeWords.sql("p.source", SourceKind.self, \.code)) AS source, p.extra, \
        p.clock_fault
        """

    /// An SQL expression that converts the stored number of a point's motion to words, separated by commas.
    private static let motionWords =
        "nullif(rtrim("
        + Motion.allCases.map { "iif(p.motion & \($0.bit), '\($0.rawValue),', '')" }.joined(separator: " || ")
        + ", ','), '')"

    private static let pointJoins =
        "JOIN trackable t ON t.number = p.trackable LEFT JOIN stream s ON s.number = p.stream"
}
