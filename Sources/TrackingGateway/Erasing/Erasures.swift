package import TrackingCore
package import TrackingRules
import TrackingStore

/// Access to erasures in the gateway's own database. It erases a trackable's data from this database. It also stores
/// requests of other processes, until a running gateway performs them.
package struct Erasures: Sendable {
    /// A stored request to erase a trackable, or its records from before a time.
    package struct Request: Hashable, Sendable {
        /// The number of the erasure request. A later request has a higher number.
        package let number: Int64
        /// The trackable whose data is to be erased.
        package let trackable: TrackableID
        /// The time before which records are erased; `nil` for all records.
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

    /// Creates access to the erasure requests in a gateway's database.
    package init(_ database: GatewayDatabase) { self.database = database }

    /// Erases a trackable's quarantined pieces and its waiting webhook messages from the gateway's database. Overwrites
    /// their bytes in the database file.
    ///
    /// - Parameter time: The time before which data is erased; `nil` for all.
    /// - Throws: `storeFailed` or, for a damaged database, `storeUnusable`; the files can then still contain some of
    ///   the data.
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

    /// Stores a request to erase a trackable. The gateway that uses this database performs it.
    ///
    /// - Parameter time: The time before which records are erased; `nil` for all records.
    /// - Returns: The number of the request.
    package func request(_ trackable: TrackableID, before time: UnixTime?) async throws(TrackingError) -> Int64 {
        try await self.database.write { db in
            try Int64.fetchOne(
                db, sql: "INSERT INTO erasure(trackable, before) VALUES(?, ?) RETURNING number",
                arguments: [trackable.rawValue, time?.seconds]) ?? 0
        }
    }

    /// Returns the erasure requests that were not performed yet, the oldest first.
    package func requests() async throws(TrackingError) -> [Request] {
        try await self.database.read { db in
            try GatewayRow.fetchAll(db, sql: "SELECT number, trackable, before FROM erasure ORDER BY number").map {
                row in
                let before: Double? = row[2]
                return Request(number: row[0], trackable: try TrackableID(row[1]), before: before.map { UnixTime($0) })
            }
        }
    }

    /// Removes an erasure request that was performed.
    package func remove(_ number: Int64) async throws(TrackingError) {
        try await self.database.write { db in
            try db.execute(sql: "DELETE FROM erasure WHERE number = ?", arguments: [number])
        }
    }
}
