import TrackingStore

/// The database tables of labels, groups, fences, rules and the outbox.
package enum RulesSchema {
    /// The migrations that create the tables of labels, groups, fences, rules and the outbox, in order.
    package static let migrations: [GatewayDatabase.Migration] = [
        GatewayDatabase.Migration(
            "rules-1", Self.tables + Self.sizeTriggers + Self.versionTriggers,
            postgres: Self.tables + Self.postgresTriggers),
        GatewayDatabase.Migration(
            "rules-2",
            [
                """
                CREATE VIEW outboxEnd AS SELECT
                    coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox'), 0) AS place
                """
            ],
            postgres: [
                """
                CREATE VIEW outboxEnd AS SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS place
                    FROM outbox_place_seq
                """
            ]),
    ]

    /// The SQL statements that create the tables.
    private static let tables =
        [
            "CREATE TABLE trackableLabel(trackable TEXT PRIMARY KEY NOT NULL, name TEXT, icon TEXT) STRICT",
            """
            CREATE TABLE trackableGroup(
                name TEXT NOT NULL, trackable TEXT NOT NULL, PRIMARY KEY(name, trackable)) STRICT, WITHOUT ROWID
            """,
            "CREATE TABLE fence(name TEXT PRIMARY KEY NOT NULL, shape TEXT NOT NULL) STRICT",
            "CREATE TABLE rule(name TEXT PRIMARY KEY NOT NULL, definition TEXT NOT NULL) STRICT",
            """
            CREATE TABLE ruleState(
                trackable TEXT NOT NULL, rule TEXT NOT NULL, holds INTEGER, since REAL, isTold INTEGER NOT NULL,
                PRIMARY KEY(trackable, rule)) STRICT, WITHOUT ROWID
            """,
            """
            CREATE TABLE ruleStream(
                trackable TEXT PRIMARY KEY NOT NULL, stream TEXT NOT NULL, seq INTEGER NOT NULL) STRICT
            """,
            "CREATE TABLE ruleVersion(value INTEGER NOT NULL) STRICT",
            "INSERT INTO ruleVersion(value) VALUES(1)",
        ] + outbox

    /// The SQL statements that create the tables of the outbox, the gateway's message queue.
    private static let outbox = [
        // The id of a message is the sum of its place and its base.
        """
        CREATE TABLE outbox(
            place INTEGER PRIMARY KEY AUTOINCREMENT, trackable TEXT NOT NULL, kind TEXT NOT NULL,
            isOwn INTEGER NOT NULL, time REAL NOT NULL, payload TEXT NOT NULL, base INTEGER NOT NULL) STRICT
        """,
        "CREATE TABLE outboxBase(value INTEGER NOT NULL) STRICT",
        "INSERT INTO outboxBase(value) VALUES(0)",
        "CREATE TABLE outboxReader(name TEXT PRIMARY KEY NOT NULL, place INTEGER NOT NULL) STRICT",
        """
        CREATE TABLE outboxTrip(
            trackable TEXT PRIMARY KEY NOT NULL, stream TEXT NOT NULL, seq INTEGER NOT NULL) STRICT
        """,
        """
        CREATE TABLE outboxTold(
            trackable TEXT NOT NULL, kind TEXT NOT NULL, stream TEXT NOT NULL, seq INTEGER NOT NULL,
            time REAL NOT NULL, PRIMARY KEY(trackable, kind, stream)) STRICT, WITHOUT ROWID
        """,
        "CREATE TABLE outboxToldUntil(time REAL NOT NULL) STRICT",
        """
        CREATE TABLE outboxRecord(
            place INTEGER PRIMARY KEY, trackable TEXT NOT NULL, kind TEXT NOT NULL, stream TEXT NOT NULL,
            seq INTEGER NOT NULL, time REAL NOT NULL, UNIQUE(trackable, kind, stream, seq)) STRICT
        """,
        "CREATE INDEX outboxRecordTime ON outboxRecord(time)",
        "CREATE TABLE outboxSize(bytes INTEGER NOT NULL) STRICT",
        "INSERT INTO outboxSize(bytes) VALUES(0)",
    ]

    /// The SQL triggers that maintain the size of the outbox.
    private static let sizeTriggers = [
        """
        CREATE TRIGGER outboxSizeAfterInsert AFTER INSERT ON outbox BEGIN
            UPDATE outboxSize SET bytes = bytes + length(CAST(new.payload AS BLOB)) + \(Outbox.entryBytes);
        END
        """,
        """
        CREATE TRIGGER outboxSizeAfterDelete AFTER DELETE ON outbox BEGIN
            UPDATE outboxSize SET bytes = bytes - length(CAST(old.payload AS BLOB)) - \(Outbox.entryBytes);
        END
        """,
    ]

    /// The SQL triggers that increment the version of the rules after each change of a fence, a rule or a group. A
    /// running gateway reads the rules again when the version changed.
    private static var versionTriggers: [String] {
        ["fence", "rule", "trackableGroup"].flatMap { table in
            ["INSERT", "UPDATE", "DELETE"].map { change in
                """
                CREATE TRIGGER \(table)After\(change) AFTER \(change) ON \(table) BEGIN
                    UPDATE ruleVersion SET value = value + 1;
                END
                """
            }
        }
    }

    /// The triggers for PostgreSQL. Each runs once for a statement, because many changes of one row within a transaction
    /// are slow in PostgreSQL.
    private static var postgresTriggers: [String] {
        let size = "(SELECT coalesce(sum(octet_length(payload) + \(Outbox.entryBytes)), 0) FROM changed)"
        let sizes = [("Insert", "NEW", "+"), ("Delete", "OLD", "-")].flatMap { change, rows, sign in
            [
                """
                CREATE FUNCTION outboxSizeAfter\(change)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    UPDATE outboxSize SET bytes = bytes \(sign) \(size); RETURN NULL; END $$
                """,
                """
                CREATE TRIGGER outboxSizeAfter\(change) AFTER \(change) ON outbox REFERENCING \(rows) TABLE AS changed
                    FOR EACH STATEMENT EXECUTE FUNCTION outboxSizeAfter\(change)()
                """,
            ]
        }
        let function = """
            CREATE FUNCTION rulesChanged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                UPDATE ruleVersion SET value = value + 1; RETURN NULL; END $$
            """
        return sizes + [function]
            + ["fence", "rule", "trackableGroup"].map { table in
                """
                CREATE TRIGGER \(table)AfterChange AFTER INSERT OR UPDATE OR DELETE ON \(table)
                    FOR EACH STATEMENT EXECUTE FUNCTION rulesChanged()
                """
            }
    }
}
