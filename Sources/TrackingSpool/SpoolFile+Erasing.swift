import GRDB
import TrackingCore
import TrackingSQLite

/// Erasing for good: no byte of an erased record stays in the file or in its write-ahead log.
extension SpoolFile {
    /// The pages that one row fills while free pages are overwritten.
    private static let pagesAtOnce = 50_000

    /// Has SQLite overwrite what is deleted from now on.
    func overwriteRemoved() throws { try self.use { try $0.execute(sql: "PRAGMA secure_delete = ON") } }

    /// See ``SpoolStorage/erase(_:before:)``.
    func erase(_ trackable: TrackableID, before time: UnixTime?) throws {
        try self.overwriteRemoved()
        try self.transaction(isDurable: true) { db in
            for stream in self.book.streams where stream.trackable == trackable {
                let seqs = try self.seqs(of: stream, before: time, db)
                guard !seqs.isEmpty else { continue }
                if try !self.delete(seqs, of: stream, db) { self.noteDamage() }
            }
            try self.dropQuarantined(of: trackable, before: time, db)
        }
        while self.book.unswept > 0 {
            try self.transaction(isDurable: false) { try self.sweep(atMost: Self.sweptAtOnce, $0) }
        }
        try self.transaction(isDurable: true) { db in
            try self.overwriteEmptyTables(db)
            try self.overwriteFreePages(db)
        }
        try self.use { db in _ = try db.checkpoint(.truncate) }
    }

    private func seqs(of stream: SpoolBook.Stream, before time: UnixTime?, _ db: Database) throws -> SeqSet {
        guard let time else { return stream.stored }
        let rows = try DirectStatement("SELECT seq FROM record WHERE stream = ? AND seq >= ? AND time < ?", in: db)
        defer { rows.reset() }
        rows.bind(stream.number, 1)
        rows.bind(Int64(clamping: stream.floor), 2)
        rows.bind(time.seconds, 3)
        var seqs = SeqSet()
        while try rows.step() { seqs.insert(UInt64(clamping: rows.integer(0))) }
        return seqs.intersection(stream.stored)
    }

    private func dropQuarantined(of trackable: TrackableID, before time: UnixTime?, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM quarantine WHERE trackable = ? AND time < ?",
            arguments: [trackable.rawValue, time?.seconds ?? .infinity])
        self.book.quarantined -= db.changesCount
    }

    /// Overwrites the first pages of tables without rows, which SQLite does where all of a table is deleted.
    private func overwriteEmptyTables(_ db: Database) throws {
        for table in ["record", "quarantine"] {
            guard try Int.fetchOne(db, sql: "SELECT 1 FROM \(table) NOT INDEXED LIMIT 1") == nil else { continue }
            try db.execute(sql: "DELETE FROM \(table)")
        }
    }

    /// Overwrites the free pages, by rows that fill them all and are deleted again: a log that is opened without
    /// `overwritesRemoved` leaves deleted bytes there. To write the file anew (`VACUUM`) would put its tables into an order that is no log's.
    private func overwriteFreePages(_ db: Database) throws {
        var left = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
        guard left > 0 else { return }
        var place = -1
        while left > 0 {
            let pages = min(left, Self.pagesAtOnce)
            try db.execute(
                sql: "INSERT INTO quarantine VALUES (?, '', '', 0, 0, 0, NULL, zeroblob(?), '', 0)",
                arguments: [place, (pages + 1) * SpoolSchema.pageSize])
            left -= pages
            place -= 1
        }
        try db.execute(sql: "DELETE FROM quarantine WHERE place < 0")
    }
}
