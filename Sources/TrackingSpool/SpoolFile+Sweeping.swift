import TrackingCore
import TrackingSQLite

/// The deletion of the rows of removed records.
///
/// To remove the lowest records of a stream, the log only raises the stream's floor, the lowest number that counts. The
/// rows with lower numbers are deleted later: while the log is idle, when new records need their room, or when the disk
/// is full.
extension SpoolFile {
    /// The maximum number of rows of removed records that one transaction deletes. Such a transaction takes 1 to 2 ms.
    static let sweptAtOnce = 1000

    /// Deletes at most `count` rows of removed records, of all streams together. Also deletes each hidden stream that
    /// has no such rows left.
    func sweep(atMost count: Int, _ db: SQLiteConnection) throws {
        var left = count
        for stream in self.book.streams where stream.unswept > 0 && left > 0 {
            left -= try self.sweep(stream, atMost: left, db)
            if let swept = self.book[stream.id], swept.isForgotten, swept.unswept == 0 { try self.drop(swept, db) }
        }
    }

    /// Deletes at most `count` rows of one stream whose records are removed: their numbers are below the stream's
    /// floor, but their rows are still in the file. Even if the index is damaged, no row of another record is deleted.
    ///
    /// - Returns: The number of deleted rows.
    @discardableResult
    func sweep(_ stream: SpoolBook.Stream, atMost count: Int, _ db: SQLiteConnection) throws -> Int {
        try self.weigh(stream, db)
        let statement = try DirectStatement(
            """
            DELETE FROM record WHERE place IN \
            (SELECT place FROM record WHERE stream = ?1 AND seq < ?2 ORDER BY seq LIMIT ?3) \
            AND +stream = ?1 AND +seq < ?2
            """, in: db)
        statement.bind(stream.number, 1)
        statement.bind(Int64(clamping: stream.floor), 2)
        statement.bind(Int64(count), 3)
        try statement.run()
        let deleted = db.changesCount
        if deleted < min(count, stream.unswept) { self.noteDamage() }
        self.book.swept(deleted < count ? stream.unswept : deleted, of: stream.id)
        return deleted
    }

    /// Subtracts the bytes of removed records from the known size of the log. The call reads their rows, so it is made
    /// only when the size is needed.
    func weigh(_ db: SQLiteConnection) throws {
        for stream in self.book.streams where stream.weighed < stream.floor { try self.weigh(stream, db) }
    }

    private func weigh(_ stream: SpoolBook.Stream, _ db: SQLiteConnection) throws {
        guard stream.weighed < stream.floor else { return }
        let bytes = try self.bytes(of: stream.weighed...(stream.floor - 1), in: stream, db)
        self.book.weighed(bytes, of: stream.id)
    }
}
