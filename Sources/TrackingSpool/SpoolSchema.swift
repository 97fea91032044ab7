import TrackingCore

/// The tables of a device's log.
///
/// Each row can be read from its page alone, and has a checksum of its own. A damaged file can therefore be salvaged
/// without the B-trees of its tables. The number of columns shows to which table a row belongs. The rows of the streams
/// are stored twice, on different pages.
///
/// A row of `record` counts if its number is at least the `floor` of its stream. Records with lower numbers were
/// removed; their rows are deleted later, in bulk.
enum SpoolSchema {
    static let pageSize = 4096
    /// The version of the log's tables, which the file stores in `PRAGMA user_version`. A log with another version is
    /// not opened.
    static let version = 1

    /// The SQL statements that create the log's tables, indexes and views, in the order in which they are run. A file
    /// with any other tables is not a log.
    static let statements = [
        """
        CREATE TABLE stream (number INTEGER PRIMARY KEY, trackable TEXT NOT NULL, name TEXT NOT NULL, \
        last INTEGER NOT NULL, floor INTEGER NOT NULL, ended INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT
        """,
        """
        CREATE TABLE stream_copy (number INTEGER PRIMARY KEY, trackable TEXT NOT NULL, name TEXT NOT NULL, \
        last INTEGER NOT NULL, floor INTEGER NOT NULL, ended INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT
        """,
        """
        CREATE TABLE record (place INTEGER PRIMARY KEY, stream INTEGER NOT NULL, seq INTEGER NOT NULL, \
        size INTEGER NOT NULL, time REAL NOT NULL, kind INTEGER NOT NULL, trip TEXT, payload BLOB NOT NULL, \
        checksum INTEGER NOT NULL) STRICT
        """,
        "CREATE INDEX record_order ON record (stream, seq, size)",
        // Trips and events are counted by kind. The points, which are many, are the rest.
        "CREATE INDEX record_rare ON record (stream, kind) WHERE kind > 0",
        """
        CREATE TABLE quarantine (place INTEGER PRIMARY KEY, trackable TEXT NOT NULL, stream TEXT NOT NULL, \
        seq INTEGER NOT NULL, time REAL NOT NULL, kind INTEGER NOT NULL, trip TEXT, payload BLOB NOT NULL, \
        reason TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT
        """,
        """
        CREATE TABLE state (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, value BLOB, \
        version INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT
        """,
        // The key of a mark begins with the record's time, so that new entries of the index are next to each other.
        """
        CREATE TABLE mark (place INTEGER PRIMARY KEY, trackable TEXT NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL, \
        added INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT
        """,
        "CREATE UNIQUE INDEX mark_key ON mark (trackable, key)",
        // The rows that are records.
        """
        CREATE VIEW held AS SELECT record.* FROM record CROSS JOIN stream ON stream.number = record.stream \
        WHERE record.seq >= stream.floor
        """,
    ]

    /// The number of columns of each table, which identifies the table of a row on a damaged page.
    enum Columns {
        static let stream = 7
        static let record = 9
        static let quarantine = 10
        static let mark = 6
        static let state = 5
    }
}

extension SpoolBook.Stream {
    /// The state of a stream, as the column `ended` stores it: the stream goes on, has ended, or is hidden from callers
    /// until its last row is deleted.
    enum Ending: UInt8 {
        case goesOn = 0
        case ended = 1
        case forgotten = 2
    }

    var ending: Ending { self.isForgotten ? .forgotten : self.isEnded ? .ended : .goesOn }

    /// The checksum over all columns of this stream's row in the log's file, except the column of the checksum itself.
    var checksum: Int64 {
        var sum = FNV1a()
        sum.add(number: UInt64(bitPattern: self.number))
        sum.add(self.trackable.rawValue.utf8)
        sum.add(0)
        sum.add(self.id.rawValue.utf8)
        sum.add(0)
        sum.add(number: self.last)
        sum.add(number: self.floor)
        sum.add(self.ending.rawValue)
        return Int64(bitPattern: sum.value)
    }

    /// Makes a stream of the log from the columns of its row in the log's file; `nil` if the row is damaged, which its
    /// checksum or an impossible value shows.
    init?(
        number: Int64, trackable: String, name: String, last: Int64, floor: Int64, ended: Int64, checksum: Int64
    ) {
        guard let trackable = try? TrackableID(trackable), let id = StreamID(name), last >= 0, floor >= 0,
            let ending = UInt8(exactly: ended).flatMap(Ending.init)
        else { return nil }
        self.init(number: number, id: id, trackable: trackable, isEnded: ending != .goesOn)
        self.last = UInt64(last)
        self.floor = UInt64(floor)
        self.weighed = self.floor
        self.isForgotten = ending == .forgotten
        self.isDirty = false
        guard self.checksum == checksum else { return nil }
    }
}

/// A small named value in the log's file: one that the publisher stores, or the number of dropped records. The row of a
/// removed value remains, without a value. Otherwise the salvage of a damaged log could restore an older version.
struct StoredValue {
    var name: String
    var value: [UInt8]?
    var version: Int64

    var checksum: Int64 {
        var sum = FNV1a()
        sum.add(self.name.utf8)
        sum.add(0)
        sum.add(self.value == nil ? 0 : 1)
        sum.add(self.value ?? [])
        sum.add(number: UInt64(bitPattern: self.version))
        return Int64(bitPattern: sum.value)
    }
}

/// A mark, as the log stores it. By the mark of an ingested record, a repetition of the record is recognized.
struct StoredMark: Hashable {
    var trackable: TrackableID
    /// The mark as bytes: the record's time, or 0 for a mark that is a digest alone, and then the digest of the
    /// record's content. See ``RecordMark``.
    var key: [UInt8]
    var name: RecordName
    /// The time at which the log stored this mark of an ingested record, in whole seconds of Unix time.
    var added: Int64

    var checksum: Int64 {
        var sum = FNV1a()
        sum.add(self.trackable.rawValue.utf8)
        sum.add(0)
        sum.add(self.key)
        sum.add(self.name.stream.rawValue.utf8)
        sum.add(0)
        sum.add(number: self.name.seq)
        sum.add(number: UInt64(bitPattern: self.added))
        return Int64(bitPattern: sum.value)
    }
}

extension QuarantinedRecord {
    /// The checksum of the quarantined record's row, over all columns except the place (row id).
    var checksum: Int64 {
        var sum = FNV1a()
        sum.add(number: self.entry.record.checksum(in: self.entry.stream))
        sum.add(self.entry.trackable.rawValue.utf8)
        sum.add(0)
        sum.add(self.reason.utf8)
        return Int64(bitPattern: sum.value)
    }
}
