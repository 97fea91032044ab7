import TrackingCore
import TrackingSQLite

/// The reading of records without the index of the log, when the index is damaged and does not lead to all records.
extension SpoolFile {
    /// Reads records of a stream until a limit is reached. Records that are not found through the index are searched
    /// for in the whole table. Records that should be in the log and are not found in the table either are lost: the
    /// log no longer counts them.
    func readOrLetGo(
        _ id: StreamID, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int, _ db: SQLiteConnection
    ) throws -> SpoolReading {
        let reading = try self.read(id, seqs, maximumCount: maximumCount, maximumBytes: maximumBytes, db)
        guard let stream = self.book[id], !reading.missing.intersection(stream.stored).isEmpty else { return reading }
        self.noteDamage()
        let found = try self.scan(stream, seqs, maximumCount: maximumCount, maximumBytes: maximumBytes, db)
        let lost = found.missing.intersection(stream.stored)
        if !lost.isEmpty { try self.transaction(isDurable: false) { try self.letGo(lost, of: stream, $0) } }
        return found
    }

    /// Removes lost records from the log together with their marks, by which repetitions are recognized. A sender may
    /// then send such a record again.
    private func letGo(_ lost: SeqSet, of stream: SpoolBook.Stream, _ db: SQLiteConnection) throws {
        try self.forgetMarks(of: lost, in: stream, db)
        try self.remove(lost, of: stream.id, db)
    }

    /// Reads records of a stream without the index, until a limit is reached. Their rows are searched for in one pass
    /// over the whole table.
    private func scan(
        _ stream: SpoolBook.Stream, _ seqs: SeqSet, maximumCount: Int, maximumBytes: Int, _ db: SQLiteConnection
    ) throws -> SpoolReading {
        var reader = RecordReader(stream, maximumCount: maximumCount, maximumBytes: maximumBytes)
        let row = try DirectStatement(
            "SELECT seq, time, kind, trip, payload, checksum FROM record WHERE place = ?", in: db)
        defer { row.reset() }
        for place in try self.places(of: seqs, in: stream, db) where reader.excess == nil {
            row.reset()
            row.bind(place, 1)
            if try row.step() { reader.take(row) }
        }
        return reader.reading(of: reader.excess.map { seqs.through($0 - 1) } ?? seqs)
    }

    /// Searches the whole table, without the index, for the rows of the given records of a stream. Returns the places
    /// (row ids) of these rows, in the order of the records' numbers.
    private func places(of seqs: SeqSet, in stream: SpoolBook.Stream, _ db: SQLiteConnection) throws -> [Int64] {
        let held = seqs.intersection(stream.stored)
        let rows = try DirectStatement(
            "SELECT place, seq FROM record NOT INDEXED WHERE +stream = ? AND +seq BETWEEN ? AND ?", in: db)
        defer { rows.reset() }
        rows.bind(stream.number, 1)
        rows.bind(Int64(clamping: held.first ?? 0), 2)
        rows.bind(Int64(clamping: held.last ?? 0), 3)
        var places: [(seq: UInt64, place: Int64)] = []
        while try rows.step() {
            let seq = UInt64(clamping: rows.integer(1))
            if held.contains(seq) { places.append((seq, rows.integer(0))) }
        }
        return places.sorted { $0.seq < $1.seq }.map(\.place)
    }
}
