import TrackingCore
import TrackingSQLite

/// The marks in the log's file. A mark (``RecordMark``) identifies an ingested record by its time and a digest of its
/// content. A record that is received again is recognized by its mark. All methods run inside a transaction.
extension SpoolFile {
    /// The time by which the oldest mark must have exceeded its maximum age before expired marks are deleted, in
    /// seconds: one day. A deletion therefore begins at most once a day. If more than ``marksLetGo`` marks have
    /// expired, the next transactions may continue it.
    private static let markPause: Int64 = 86_400
    /// The maximum number of expired marks of ingested records that one transaction deletes from the log: 100,000.
    private static let marksLetGo = 100_000

    /// Adds the marks of ingested records, so that a repetition of these records is recognized. Also deletes the oldest
    /// marks once their number or age exceeds a limit by a margin.
    ///
    /// - Parameter knowsAges: `true` if the clock is reliable. Otherwise no mark is deleted for its age.
    func remember(_ entries: [SpoolEntry], now: UnixTime, knowsAges: Bool, _ db: SQLiteConnection) throws {
        let marked = entries.filter { $0.mark != nil }
        guard !marked.isEmpty else { return }
        let added = Int64(clamping: Int(now.seconds))
        for entry in marked {
            guard let mark = entry.mark else { continue }
            let name = RecordName(stream: entry.stream, seq: entry.record.seq)
            let row = StoredMark(trackable: entry.trackable, key: mark.key, name: name, added: added)
            // A stored mark with the same key is damaged; otherwise the record would have been found by it.
            try self.insert(row, isNewest: true, db)
        }
        for (id, own) in Dictionary(grouping: marked, by: \.trackable) {
            self.book.marks[id] = try self.book.marks[id].map { $0 + own.count } ?? self.countMarks(of: id, db)
            try self.letGoMarks(of: id, db)
        }
        guard knowsAges else { return }
        try self.letGoMarks(before: added - RecordMark.maximumAge.components.seconds, db)
    }

    /// Writes the mark of one ingested record.
    ///
    /// - Parameter isNewest: `true` to replace a stored mark with the same key; `false` to keep the stored mark.
    func insert(_ mark: StoredMark, isNewest: Bool = false, _ db: SQLiteConnection) throws {
        let statement = try DirectStatement(
            """
            INSERT OR \(isNewest ? "REPLACE" : "IGNORE") INTO mark (trackable, key, name, added, checksum) \
            VALUES (?, ?, ?, ?, ?)
            """, in: db)
        statement.bind(mark.trackable.rawValue, 1)
        statement.bind(mark.name.description, 3)
        statement.bind(mark.added, 4)
        statement.bind(mark.checksum, 5)
        try statement.run(binding: mark.key, 2)
    }

    /// Returns the names (stream and number) of the ingested records that have these marks. A mark that is not stored,
    /// or whose row is damaged, has no entry in the result.
    func known(_ marks: [RecordMark], of id: TrackableID, _ db: SQLiteConnection) throws -> [RecordMark: RecordName] {
        let statement = try DirectStatement(
            "SELECT name, added, checksum FROM mark WHERE trackable = ? AND key = ?", in: db)
        defer { statement.reset() }
        var known: [RecordMark: RecordName] = [:]
        statement.bind(id.rawValue, 1)
        for mark in marks {
            statement.reset()
            statement.bind(mark.key, 2)
            guard try statement.step(), let name = RecordName(statement.text(0)) else { continue }
            let row = StoredMark(trackable: id, key: mark.key, name: name, added: statement.integer(1))
            if row.checksum == statement.integer(2) { known[mark] = name }
        }
        return known
    }

    /// Deletes the marks of the given ingested records, so that a sender may send these records again. Reads all marks
    /// of the trackable once.
    func forgetMarks(of seqs: SeqSet, in stream: SpoolBook.Stream, _ db: SQLiteConnection) throws {
        let places = try self.placesOfMarks(of: seqs, in: stream, db)
        let deletion = try DirectStatement("DELETE FROM mark WHERE place = ?", in: db)
        for place in places {
            deletion.bind(place, 1)
            try deletion.run()
        }
        if let count = self.book.marks[stream.trackable] { self.book.marks[stream.trackable] = count - places.count }
    }

    private func placesOfMarks(of seqs: SeqSet, in stream: SpoolBook.Stream, _ db: SQLiteConnection) throws -> [Int64] {
        let rows = try DirectStatement("SELECT place, name FROM mark WHERE trackable = ?", in: db)
        defer { rows.reset() }
        rows.bind(stream.trackable.rawValue, 1)
        var places: [Int64] = []
        while try rows.step() {
            guard let name = RecordName(rows.text(1)), name.stream == stream.id, seqs.contains(name.seq) else {
                continue
            }
            places.append(rows.integer(0))
        }
        return places
    }

    /// Changes the record name in the marks of an ingested record. A quarantined record that returns to the backlog
    /// gets a new name.
    ///
    /// The key of a mark begins with the record's time, or with the time 0 if the mark is a digest alone. Only marks
    /// with these two times are searched.
    func renameMarks(of entry: SpoolEntry, to name: RecordName, _ db: SQLiteConnection) throws {
        let update = try DirectStatement("UPDATE mark SET name = ?, checksum = ? WHERE place = ?", in: db)
        for time in Set([entry.record.time, UnixTime(0)]) {
            for (place, mark) in try self.marks(of: entry, at: time, db) {
                var renamed = mark
                renamed.name = name
                update.bind(renamed.name.description, 1)
                update.bind(renamed.checksum, 2)
                update.bind(place, 3)
                try update.run()
            }
        }
    }

    /// Returns the intact marks of an ingested record whose keys begin with `time`, each with its place (row id).
    private func marks(
        of entry: SpoolEntry, at time: UnixTime, _ db: SQLiteConnection
    ) throws -> [(place: Int64, mark: StoredMark)] {
        let statement = try DirectStatement(
            """
            SELECT place, key, added, checksum FROM mark WHERE trackable = ? AND key BETWEEN ? AND ? AND name = ?
            """, in: db)
        defer { statement.reset() }
        let keys = RecordMark.keys(at: time)
        statement.bind(entry.trackable.rawValue, 1)
        statement.bind(keys.lowest, 2)
        statement.bind(keys.highest, 3)
        statement.bind(entry.name.description, 4)
        var marks: [(Int64, StoredMark)] = []
        while try statement.step() {
            let mark = StoredMark(
                trackable: entry.trackable, key: statement.bytes(1), name: entry.name, added: statement.integer(2))
            if mark.checksum == statement.integer(3) { marks.append((statement.integer(0), mark)) }
        }
        return marks
    }

    private func countMarks(of id: TrackableID, _ db: SQLiteConnection) throws -> Int {
        let count = try DirectStatement("SELECT count(*) FROM mark WHERE trackable = ?", in: db)
        defer { count.reset() }
        count.bind(id.rawValue, 1)
        return try count.step() ? Int(count.integer(0)) : 0
    }

    /// Deletes the oldest marks of a trackable down to ``markLimit``, as soon as their number exceeds this limit by one
    /// percent, and by at least one mark.
    private func letGoMarks(of id: TrackableID, _ db: SQLiteConnection) throws {
        let slack = max(1, self.markLimit / 100)
        guard let count = self.book.marks[id], count >= self.markLimit + slack else { return }
        let deletion = try DirectStatement(
            """
            DELETE FROM mark WHERE trackable = ?1 AND place <= \
            (SELECT place FROM mark WHERE trackable = ?1 ORDER BY place LIMIT 1 OFFSET ?2)
            """, in: db)
        deletion.bind(id.rawValue, 1)
        deletion.bind(Int64(count - self.markLimit - 1), 2)
        try deletion.run()
        self.book.marks[id] = self.markLimit
    }

    /// Deletes expired marks of ingested records: those that were added before a time, in seconds of Unix time. Does
    /// nothing until the oldest mark is ``markPause`` older than that time. Deletes at most ``marksLetGo`` marks.
    private func letGoMarks(before time: Int64, _ db: SQLiteConnection) throws {
        let oldest = try DirectStatement("SELECT added FROM mark ORDER BY place LIMIT 1", in: db)
        defer { oldest.reset() }
        guard try oldest.step(), oldest.integer(0) < time - Self.markPause else { return }
        oldest.reset()
        let deletion = try DirectStatement(
            "DELETE FROM mark WHERE added < ? AND place IN (SELECT place FROM mark ORDER BY place LIMIT ?)", in: db)
        deletion.bind(time, 1)
        deletion.bind(Int64(Self.marksLetGo), 2)
        try deletion.run()
        self.book.marks = [:]
    }
}
