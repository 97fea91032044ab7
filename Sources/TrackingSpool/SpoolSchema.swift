import GRDB
import TrackingCore

/// The tables of a log.
///
/// Every row can be read off its page alone, and tells by its own checksum whether it is whole: a damaged file is salvaged
/// without the tables' trees. The number of columns tells the tables apart. The streams are kept twice, on different pages.
///
/// A row of `record` is a record from the `floor` of its stream on. What lies below was removed: its rows are deleted later,
/// many together.
enum SpoolSchema {
    static let pageSize = 4096
    /// The version of the tables; a file of the first may say 0 as well.
    static var version: Int { Self.versions.count }

    /// What a log is made of, in the order in which it came: a log that has the first of these alone is an earlier one, and is
    /// given the rest.
    static let versions = [Self.records, Self.marks, Self.floors]

    /// Streams, records, what is set aside, and small values.
    private static let records = [
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
        // Points are many: only what is no point is counted by its kind.
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
    ]

    /// What records from outside are known by. The key begins with the record's time, so that what comes together lies
    /// together, and an entry of the index is written where the last one was.
    private static let marks = [
        """
        CREATE TABLE mark (place INTEGER PRIMARY KEY, trackable TEXT NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL, \
        added INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT
        """,
        "CREATE UNIQUE INDEX mark_key ON mark (trackable, key)",
    ]

    /// The rows that are records. Earlier programs know neither floors nor this release's checksum of a record: to them the
    /// log is a newer one.
    private static let floors = [
        """
        CREATE VIEW held AS SELECT record.* FROM record CROSS JOIN stream ON stream.number = record.stream \
        WHERE record.seq >= stream.floor
        """
    ]

    /// What an earlier log has not; `nil` where the tables are those of no log.
    static func missing(in found: [String]) -> [String]? {
        let known = (0...Self.versions.count).first { found == Self.versions.prefix($0).flatMap { $0 } }
        return known.map { Self.versions.dropFirst($0).flatMap { $0 } }
    }

    /// How many columns a row has, by table.
    enum Columns {
        static let stream = 7
        static let record = 9
        static let quarantine = 10
        static let mark = 6
        static let state = 5
    }
}

extension SpoolBook.Stream {
    /// Whether it goes on, as its row says it.
    enum Ending: UInt8 {
        case goesOn = 0
        case ended = 1
        case forgotten = 2
    }

    var ending: Ending { self.isForgotten ? .forgotten : self.isEnded ? .ended : .goesOn }

    /// Over everything that its row says.
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

    /// Reads a row; `nil` when it is damaged.
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

/// A small value of the publisher's, as it is stored: one that was removed stays, without a value, so that no older version
/// of it comes back.
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

/// What a record is known by, as it is stored.
struct StoredMark: Hashable {
    var trackable: TrackableID
    /// See ``RecordMark``.
    var key: [UInt8]
    var name: RecordName
    /// When it was added, in whole seconds.
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
    /// Over everything that its row says.
    var checksum: Int64 {
        var sum = FNV1a()
        sum.add(number: self.entry.record.checksum(in: self.entry.stream))
        sum.add(self.entry.trackable.rawValue.utf8)
        sum.add(0)
        sum.add(self.reason.utf8)
        return Int64(bitPattern: sum.value)
    }
}
