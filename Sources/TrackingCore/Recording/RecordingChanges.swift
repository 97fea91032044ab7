/// The changes that a batch causes in the database: the rows to write in one transaction.
public struct RecordingChanges: Sendable {
    /// The new points to write, ordered by trackable and time. A point without a stream may be stored already; the
    /// database then skips it.
    public internal(set) var points: [PointRow] = []
    /// The new versions of trips to write. Each change of a trip is a new version of it.
    public internal(set) var trips: [DocumentRow<Trip>] = []
    /// The new events to write to the database.
    public internal(set) var events: [DocumentRow<TrackingEvent>] = []
    /// The completed runs (groups of consecutive points) to write to the index for spatial queries.
    public internal(set) var runs: [RunRow] = []
    /// The changes in the states of record numbers (stored, missing …), for each stream of the batch. The keys are
    /// those of the streams in the database.
    public internal(set) var coverage: [Int64: CoverageChange] = [:]
    /// The trackables whose rows must be written, by their keys in the database. Their last position, current group of
    /// points or list of recent streams has changed.
    public internal(set) var trackables: [Int64: RecordingLedger.Trackable] = [:]
    /// The number of records that were received again although their numbers are marked as stored or erased, by the key
    /// of the stream.
    public internal(set) var duplicates: [Int64: Int] = [:]
    /// The number of new points whose time comes from a wrong clock, by the key of the stream.
    public internal(set) var clockFaults: [Int64: Int] = [:]
    /// The keys of the streams whose list of known record numbers has too many ranges. A record that would begin a
    /// further range is not stored, and so not acknowledged.
    public internal(set) var tooManyGaps: Set<Int64> = []
    /// The new contents of retained messages: presences and resolutions in force. The database skips a content that
    /// equals the last one stored for the same trackable and topic.
    public internal(set) var states: [StateRow] = []
    /// The rejected messages and records to store separately with the reason (to quarantine).
    public internal(set) var refused: [RefusedMessage] = []
    /// The acknowledgements of stored records, one for each trackable in the batch. They are published after the
    /// transaction is durable.
    public internal(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]

    init() {}
}

/// The key of a point among the points of its trackable: time, stream and number.
public struct PointName: Hashable, Comparable, Sendable {
    /// The time of the point's fix.
    public var time: UnixTime
    /// The key of the point's stream in the database; 0 for a point without a stream.
    public var stream: Int64
    /// The number of the point in its stream (`seq`). For a point without a stream, it is ``Location/placeKey``, a
    /// number made from the point's coordinate.
    public var seq: Int64

    /// Makes the key of a point from its time, its stream's key and its number.
    public init(time: UnixTime, stream: Int64, seq: Int64) {
        self.time = time
        self.stream = stream
        self.seq = seq
    }

    /// Orders points by time, then by the key of the stream, then by number. Points are read in this order.
    public static func < (left: Self, right: Self) -> Bool {
        (left.time, left.stream, left.seq) < (right.time, right.stream, right.seq)
    }
}

/// A row of the database with one point.
public struct PointRow: Hashable, Sendable {
    /// The key of the point's trackable in the database.
    public var trackable: Int64
    /// The key of the point's stream in the database; 0 for a point without a stream.
    public var stream: Int64
    /// The number of the point in its stream (`seq`). For a point without a stream, it is ``Location/placeKey``, a
    /// number made from the point's coordinate.
    public var seq: Int64
    /// `true` when the point's time comes from a wrong clock.
    public var hasClockFault = false
    /// `true` for a point that never becomes the trackable's last position, because its time comes from a wrong clock
    /// or its coordinate is [0, 0].
    public var isFaulty: Bool { self.hasClockFault || self.location.coordinate.isNowhere }
    /// The value for the column `clock_fault`: 1 when the point's time comes from a wrong clock, 2 when its coordinate
    /// is [0, 0], else 0.
    public var faultCode: Int64 { self.hasClockFault ? 1 : self.location.coordinate.isNowhere ? 2 : 0 }
    /// The position, the time and the measurements of the point, as they are stored.
    public var location: Location

    init(trackable: Int64, location: Location) {
        self.trackable = trackable
        self.stream = 0
        self.seq = location.placeKey
        self.location = location.withoutNegativeZeros
    }

    /// The key of the point among the points of its trackable: time, stream and number.
    public var name: PointName { PointName(time: self.location.time, stream: self.stream, seq: self.seq) }
}

/// A row of the database with one version of a trip, or with one event.
public struct DocumentRow<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The key, in the database, of the trackable to which the trip or the event belongs.
    public var trackable: Int64
    /// The key, in the database, of the stream to which the trip or the event belongs.
    public var stream: Int64
    /// The version of the trip, or the event, with its original JSON.
    public var document: RecordedDocument<Value>
}

/// A row of the database with one completed run, a group of consecutive points.
public struct RunRow: Hashable, Sendable {
    /// The key of the run's trackable in the database.
    public var trackable: Int64
    /// The run: the area and the time span of a group of consecutive points.
    public var run: PointRun

    /// Makes the database row of a completed run, a group of consecutive points. The row contains the key of the run's
    /// trackable in the database.
    public init(_ trackable: Int64, _ run: PointRun) {
        self.trackable = trackable
        self.run = run
    }
}

/// A row of the database with the content of a retained message of a trackable: a presence or the resolution in force.
public struct StateRow: Hashable, Sendable {
    /// The key, in the database, of the trackable to which the retained message belongs.
    public var trackable: Int64
    /// The time at which the recorder received the retained message, by the recorder's clock.
    public var receivedAt: UnixTime
    /// The retained message's name and its new content.
    public var change: StateChange
}

/// The coverage of a stream before and after a batch. The coverage states which record numbers are stored or known to
/// be missing.
public struct CoverageChange: Hashable, Sendable {
    /// The coverage of the stream before the batch, as the database contains it.
    public var before: StreamCoverage
    /// The coverage of the stream after the batch, which the recorder writes to the database.
    public var after: StreamCoverage

    init(before: StreamCoverage) {
        self.before = before
        self.after = before
    }

    /// The changes of database rows that turn the coverage before the batch into the coverage after it. Each row is a
    /// range of record numbers. `removed` contains the first numbers of the ranges to delete, and `written` the ranges
    /// to insert or overwrite.
    public var difference: (removed: [UInt64], written: [StreamCoverage.Range]) {
        var removed: [UInt64] = []
        var written: [StreamCoverage.Range] = []
        for mark in StreamCoverage.Mark.allCases {
            let (old, new) = (self.before[mark].ranges, self.after[mark].ranges)
            guard old != new else { continue }
            let known = Set(old)
            let current = Set(new.map(\.lowerBound))
            removed += old.map(\.lowerBound).filter { !current.contains($0) }
            written += new.filter { !known.contains($0) }.map { StreamCoverage.Range(mark, $0) }
        }
        // A range that only changed its mark is overwritten, not deleted.
        let firsts = Set(written.map(\.seqs.lowerBound))
        return (removed.filter { !firsts.contains($0) }, written)
    }
}
