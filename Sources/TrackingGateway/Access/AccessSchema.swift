import TrackingRules
import TrackingStore

/// The database tables of tokens, share links and sessions.
enum AccessSchema {
    static let migrations = [
        GatewayDatabase.Migration(
            "access-1",
            [
                """
                CREATE TABLE token (number INTEGER PRIMARY KEY, lookup INTEGER NOT NULL UNIQUE, hash BLOB NOT NULL, \
                kind INTEGER NOT NULL, name TEXT NOT NULL, publishes TEXT NOT NULL, reads TEXT NOT NULL, \
                admin INTEGER NOT NULL, begins REAL NOT NULL, ends REAL, revoked REAL, rate REAL, \
                body INTEGER) STRICT
                """,
                "CREATE UNIQUE INDEX token_name ON token (name) WHERE kind = 0 AND revoked IS NULL",
                """
                CREATE TABLE session (lookup INTEGER PRIMARY KEY, hash BLOB NOT NULL, token INTEGER NOT NULL \
                REFERENCES token (number) ON DELETE CASCADE, ends REAL NOT NULL) STRICT
                """,
                "CREATE INDEX session_token ON session (token)",
            ]),
        GatewayDatabase.Migration("access-2", ["ALTER TABLE token ADD COLUMN readGroups TEXT"]),
        GatewayDatabase.Migration("access-3", ["ALTER TABLE token ADD COLUMN stop TEXT"]),
        GatewayDatabase.Migration("access-4", ["ALTER TABLE token ADD COLUMN once TEXT"]),
    ]
}
