import Glibc
package import GRDB
package import TrackingCore

/// What a gateway keeps beside the history: tokens, share links, sessions, and what its other parts need; one SQLite file.
///
/// Several programs may have it open: what `godwit token` writes, a running gateway sees at once.
package struct GatewayDatabase: Sendable {
    /// Reads and writes.
    package let pool: DatabasePool
    private let path: String

    /// One step of the tables' history. One that was released is never edited: a change is a new one.
    package struct Migration: Sendable {
        /// The part that it belongs to, and its number there: `access-1`.
        package let name: String
        /// What it does, a statement each.
        package let statements: [String]

        /// Makes a step.
        package init(_ name: String, _ statements: [String]) {
            self.name = name
            self.statements = statements
        }
    }

    /// The steps of all parts, in order.
    static let migrations: [Migration] =
        AccessSchema.migrations + Quarantine.migrations + RulesSchema.migrations + Erasures.migrations

    /// Opens the file, or makes it, for its owner alone; its folder exists.
    ///
    /// - Throws: `storeUnusable` when it is something else, or of a newer version; `storeFailed` when it cannot be opened.
    package init(path: String) throws(TrackingError) {
        self.path = path
        do {
            // SQLite gives its other files the rights of this one.
            Glibc.close(Glibc.open(path, O_CREAT | O_CLOEXEC, 0o600))
            self.pool = try DatabasePool(path: path, configuration: Self.configuration)
            // What was answered outlives a power cut. A pool sets NORMAL as it is opened.
            try self.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
            let migrator = Self.migrator
            guard try self.pool.read({ try !migrator.hasBeenSuperseded($0) }) else {
                throw TrackingError(
                    .storeUnusable, "\(path) is of a newer version than this program: use a newer program")
            }
            try Self.migrate(self.pool)
        } catch {
            throw Self.explain(error, path)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_size_limit = 16777216")
            // Of what is deleted, positions among it, no byte stays in the file.
            try db.execute(sql: "PRAGMA secure_delete = ON")
        }
        return configuration
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for migration in self.migrations {
            migrator.registerMigration(migration.name) { db in
                for statement in migration.statements { try db.execute(sql: statement) }
            }
        }
        return migrator
    }

    /// Takes the steps that are missing. Another program that was started at the same moment may take them meanwhile: as long as
    /// there are more of them than before, what is missing is looked at anew.
    private static func migrate(_ pool: DatabasePool) throws {
        let migrator = Self.migrator
        while true {
            let before = try pool.read { try migrator.appliedIdentifiers($0) }
            do {
                return try migrator.migrate(pool)
            } catch {
                guard try pool.read({ try migrator.appliedIdentifiers($0) }) != before else { throw error }
            }
        }
    }

    /// Reads in one moment of the file.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`, and what `body` throws of ours.
    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TrackingError) -> Value {
        do { return try await self.pool.read(body) } catch { throw Self.explain(error, self.path) }
    }

    /// Does all of `body` in one transaction, or nothing; durable on return.
    ///
    /// - Throws: `storeFailed`, `storeUnusable`, and what `body` throws of ours.
    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(TrackingError) -> Value {
        do { return try await self.pool.write(body) } catch { throw Self.explain(error, self.path) }
    }

    /// Writes the file anew and empties its write-ahead log, so that neither has a byte of deleted rows. Programs that read the file
    /// at that moment are waited for, 5 s at most.
    ///
    /// - Throws: `storeFailed`: the files may still have some of it.
    package func overwriteDeleted() async throws(TrackingError) {
        do {
            try await self.pool.vacuum()
            try await self.pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        } catch { throw Self.explain(error, self.path) }
    }

    /// Closes it. Nothing may be called afterwards.
    package func close() throws(TrackingError) {
        do { try self.pool.close() } catch { throw Self.explain(error, self.path) }
    }

    private static func explain(_ error: any Error, _ path: String) -> TrackingError {
        switch error {
        case let error as TrackingError: return error
        case let error as DatabaseError:
            let isUnusable = [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
            return TrackingError(
                isUnusable ? .storeUnusable : .storeFailed,
                "\(path): \(error.message ?? "") (SQLite \(error.extendedResultCode.rawValue))")
        default: return TrackingError(.storeFailed, "\(path): \(error)")
        }
    }
}
