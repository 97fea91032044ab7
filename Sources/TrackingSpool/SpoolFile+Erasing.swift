import TrackingCore
import TrackingSQLite

/// The erasure of records for good: no byte of an erased record remains in the log's file or in its write-ahead log.
extension SpoolFile {
    /// The maximum number of unused pages of the log's file that one temporary row overwrites after an erasure.
    private static let pagesAtOnce = 50_000

    /// Makes SQLite overwrite the content of all rows that are deleted from the log's file from now on, so that it
    /// cannot be recovered.
    func overwriteRemoved() throws { try self.use { try $0.execute("PRAGMA secure_delete = ON") } }

    /// Erases the records of a trackable for good, or only those with times before `time`: also its quarantined
    /// records. Then overwrites the unused parts of the file. See ``SpoolStorage/erase(_:before:)``.
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
        try self.use { try $0.checkpoint() }
    }

    private func seqs(of stream: SpoolBook.Stream, before time: UnixTime?, _ db: SQLiteConnection) throws -> SeqSet {
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

    private func dropQuarantined(of trackable: TrackableID, before time: UnixTime?, _ db: SQLiteConnection) throws {
        let deletion = try DirectStatement("DELETE FROM quarantine WHERE trackable = ? AND time < ?", in: db)
        deletion.bind(trackable.rawValue, 1)
        deletion.bind(time?.seconds ?? .infinity, 2)
        try deletion.run()
        self.book.quarantined -= db.changesCount
    }

    /// Overwrites the one page that an empty table still occupies, for the tables `record` and `quarantine`. Does
    /// nothing for a table with rows. SQLite overwrites the page when a `DELETE` without a condition is run.
    private func overwriteEmptyTables(_ db: SQLiteConnection) throws {
        for table in ["record", "quarantine"] {
            guard try db.integer("SELECT 1 FROM \(table) NOT INDEXED LIMIT 1") == nil else { continue }
            try db.execute("DELETE FROM \(table)")
        }
    }

    /// Overwrites the unused pages of the file, which may still contain deleted rows. Temporary rows fill these pages
    /// and are then deleted. `VACUUM` is not used, because it would store the tables in another order.
    private func overwriteFreePages(_ db: SQLiteConnection) throws {
        var left = Int(try db.integer("PRAGMA freelist_count") ?? 0)
        guard left > 0 else { return }
        let insertion = try DirectStatement(
            "INSERT INTO quarantine VALUES (?, '', '', 0, 0, 0, NULL, zeroblob(?), '', 0)", in: db)
        var place: Int64 = -1
        while left > 0 {
            let pages = min(left, Self.pagesAtOnce)
            insertion.bind(place, 1)
            insertion.bind(Int64((pages + 1) * SpoolSchema.pageSize), 2)
            try insertion.run()
            left -= pages
            place -= 1
        }
        try db.execute("DELETE FROM quarantine WHERE place < 0")
    }
}
