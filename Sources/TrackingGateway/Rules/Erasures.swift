import GRDB
package import TrackingCore

/// Erasing from the gateway's own database, and the erasures that another program asks a running gateway for.
package struct Erasures: Sendable {
    /// One erasure that is asked for.
    package struct Request: Hashable, Sendable {
        /// Its number; a later one has a greater.
        package let number: Int64
        /// The trackable that is to be erased.
        package let trackable: TrackableID
        /// Only what is of an earlier time; `nil` for all of it.
        package let before: UnixTime?
    }

    static let migrations = [
        GatewayDatabase.Migration(
            "erasures-1",
            [
                """
                CREATE TABLE erasure(
                    number INTEGER PRIMARY KEY AUTOINCREMENT, trackable TEXT NOT NULL, before REAL) STRICT
                """
            ])
    ]

    private let database: GatewayDatabase

    package init(_ database: GatewayDatabase) { self.database = database }

    /// Erases what waits for webhooks and what was set aside of requests, and overwrites it in the file.
    ///
    /// - Parameter time: Only what came before; `nil` for all of it.
    /// - Throws: `storeFailed`: the files may still have some of it.
    package func erase(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError) {
        try await self.database.write { db in
            if let time {
                try Outbox.remove(trackable, before: time, from: db)
            } else {
                try Outbox.remove(trackable, from: db)
            }
            try Quarantine.remove(trackable, before: time, from: db)
        }
        try await self.database.overwriteDeleted()
    }

    /// Asks the gateway that runs on the file.
    ///
    /// - Returns: The number of the request.
    package func request(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError) -> Int64 {
        try await self.database.write { db in
            try db.execute(
                sql: "INSERT INTO erasure(trackable, before) VALUES(?, ?)",
                arguments: [trackable.rawValue, time?.seconds])
            return db.lastInsertedRowID
        }
    }

    /// The requests that no gateway has performed yet, in order.
    package func requests() async throws(TrackingError) -> [Request] {
        try await self.database.read { db in
            try Row.fetchAll(db, sql: "SELECT number, trackable, before FROM erasure ORDER BY number").map { row in
                let before: Double? = row[2]
                return Request(number: row[0], trackable: try TrackableID(row[1]), before: before.map { UnixTime($0) })
            }
        }
    }

    /// Removes a request, after it was performed.
    package func remove(_ number: Int64) async throws(TrackingError) {
        try await self.database.write { db in
            try db.execute(sql: "DELETE FROM erasure WHERE number = ?", arguments: [number])
        }
    }
}
