import FoundationEssentials
import SystemLibrary
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
            ]),
        GatewayDatabase.Migration("erasures-2", ["ALTER TABLE erasure ADD COLUMN gateway TEXT"]),
    ]

    private let database: GatewayDatabase

    /// Creates access to the erasure requests in a gateway's database.
    package init(_ database: GatewayDatabase) { self.database = database }

    /// Returns the name of a gateway among those that share a database. The name is random, and is in the file
    /// `gateway-name` in the folder of the gateway's files. The first call for a folder creates the file.
    ///
    /// Two machines can have the same host name and the same folder, and one folder can have several paths, so neither
    /// identifies a gateway.
    ///
    /// - Throws: `storeFailed` if the file cannot be written or read.
    package static func gateway(in folder: String) throws(TrackingError) -> String {
        let path = "\(folder)/gateway-name"
        if let name = self.storedName(path) { return name }
        var generator = SystemRandomNumberGenerator()
        let name = SessionID.random(using: &generator).rawValue
        let draft = "\(path)-\(name)"
        let bytes = Array(name.utf8)
        let descriptor = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            // A link appears with its whole content, and does not replace the file of another process.
            if write(descriptor, bytes, bytes.count) == bytes.count { _ = link(draft, path) }
            close(descriptor)
            unlink(draft)
        }
        guard let name = self.storedName(path) else {
            throw TrackingError(
                .storeFailed,
                "cannot use \(path), the file with the gateway's name. Give this user the right to write the directory, or delete the file if its content is damaged"
            )
        }
        return name
    }

    private static func storedName(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).flatMap { SessionID(String(decoding: $0, as: UTF8.self))?.rawValue }
    }

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

    /// Stores a request to erase a trackable from the database and the log of a gateway, which performs it.
    ///
    /// - Parameters:
    ///   - time: The time before which records are erased; `nil` for all records.
    ///   - gateway: The name of the gateway, among those that share the database; `nil` for a gateway with a database of
    ///     its own.
    /// - Returns: The number of the request.
    package func request(
        _ trackable: TrackableID, before time: UnixTime?, to gateway: String? = nil
    ) async throws(TrackingError) -> Int64 {
        try await self.database.write { db in
            try Int64.fetchOne(
                db, sql: "INSERT INTO erasure(trackable, before, gateway) VALUES(?, ?, ?) RETURNING number",
                arguments: [trackable.rawValue, time?.seconds, gateway]) ?? 0
        }
    }

    /// Returns the erasure requests to a gateway that were not performed yet, the oldest first.
    ///
    /// - Parameter gateway: The name of the gateway; `nil` for a gateway with a database of its own.
    package func requests(to gateway: String? = nil) async throws(TrackingError) -> [Request] {
        try await self.database.read { db in
            try GatewayRow.fetchAll(
                db,
                sql: """
                    SELECT number, trackable, before FROM erasure WHERE coalesce(gateway, '') = ? ORDER BY number
                    """, arguments: [gateway ?? ""]
            ).map { row in
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
