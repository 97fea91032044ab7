import GRDB
import TrackingCore
import TrackingSQLite

/// What removed records leave behind.
///
/// To remove the lowest records of a stream is to raise its floor. Their rows are deleted when nobody waits, when they are in the
/// way, and when there is no room.
extension SpoolFile {
    /// How many rows are deleted in one transaction that nobody waits for: a millisecond or two.
    static let sweptAtOnce = 1000

    /// Deletes rows below the floors of their streams.
    func sweep(atMost count: Int, _ db: Database) throws {
        var left = count
        for stream in self.book.streams where stream.unswept > 0 && left > 0 {
            left -= try self.sweep(stream, atMost: left, db)
            if let swept = self.book[stream.id], swept.isForgotten, swept.unswept == 0 { try self.drop(swept, db) }
        }
    }

    /// Where the index leads to a record that is not below the floor, that one stays: each row is asked itself.
    ///
    /// - Returns: How many there were.
    @discardableResult
    func sweep(_ stream: SpoolBook.Stream, atMost count: Int, _ db: Database) throws -> Int {
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

    /// How much the rows below the floor weigh is known when it is asked for.
    func weigh(_ db: Database) throws {
        for stream in self.book.streams where stream.weighed < stream.floor { try self.weigh(stream, db) }
    }

    private func weigh(_ stream: SpoolBook.Stream, _ db: Database) throws {
        guard stream.weighed < stream.floor else { return }
        let bytes = try self.bytes(of: stream.weighed...(stream.floor - 1), in: stream, db)
        self.book.weighed(bytes, of: stream.id)
    }
}
