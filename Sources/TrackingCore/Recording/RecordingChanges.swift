/// The changes of a store that a batch causes: rows to be written in one transaction.
public struct RecordingChanges: Sendable {
    /// New points, ordered by trackable and time. A point without a stream may be stored already; then it is skipped.
    public internal(set) var points: [PointRow] = []
    /// New versions of trips, to be written.
    public internal(set) var trips: [DocumentRow<Trip>] = []
    /// New events, to be written.
    public internal(set) var events: [DocumentRow<TrackingEvent>] = []
    /// Complete runs of points for the spatial index, to be written.
    public internal(set) var runs: [RunRow] = []
    /// The coverage of each changed stream, by the stream's key.
    public internal(set) var coverage: [Int64: CoverageChange] = [:]
    /// The trackables with a changed last position, open run or list of recent streams, by their keys.
    public internal(set) var trackables: [Int64: RecordingLedger.Trackable] = [:]
    /// The number of records that were received again, by the stream's key.
    public internal(set) var duplicates: [Int64: Int] = [:]
    /// The number of new points whose time comes from a wrong clock, by the stream's key.
    public internal(set) var clockFaults: [Int64: Int] = [:]
    /// The keys of streams with too many gaps for a record that would begin another one. That record is not
    /// acknowledged.
    public internal(set) var tooManyGaps: Set<Int64> = []
    /// Presences and resolutions. A value that equals the previous one of the same name is skipped.
    public internal(set) var states: [StateRow] = []
    /// The messages and records to quarantine.
    public internal(set) var refused: [RefusedMessage] = []
    /// The acknowledgements to publish after the transaction is durable, for every trackable in the batch.
    public internal(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]

    init() {}
}

/// The key of a point among the points of its trackable.
public struct PointName: Hashable, Comparable, Sendable {
    /// The time of the fix.
    public var time: UnixTime
    /// The key of its stream; 0 for a point without one.
    public var stream: Int64
    /// The point's number in its stream; its ``Location/placeKey`` without a stream.
    public var seq: Int64

    /// Makes the key of a point from its time, its stream's key and its number.
    public init(time: UnixTime, stream: Int64, seq: Int64) {
        self.time = time
        self.stream = stream
        self.seq = seq
    }

    /// Orders points as they are read: by time, then stream, then number.
    public static func < (left: Self, right: Self) -> Bool {
        (left.time, left.stream, left.seq) < (right.time, right.stream, right.seq)
    }
}

/// A point in a store.
public struct PointRow: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// The key of its stream; 0 for a point without one.
    public var stream: Int64
    /// The point's number in its stream; its ``Location/placeKey`` without a stream.
    public var seq: Int64
    /// `true` when the time comes from a wrong clock.
    public var hasClockFault = false
    /// `true` for a point that never becomes the trackable's last position, because its clock was wrong or its
    /// coordinate is [0, 0].
    public var isFaulty: Bool { self.hasClockFault || self.location.coordinate.isNowhere }
    /// The value of the column `clock_fault`: 1 for a wrong clock, 2 for the position [0, 0], else 0.
    public var faultCode: Int64 { self.hasClockFault ? 1 : self.location.coordinate.isNowhere ? 2 : 0 }
    /// The point.
    public var location: Location

    init(trackable: Int64, location: Location) {
        self.trackable = trackable
        self.stream = 0
        self.seq = location.placeKey
        self.location = location.withoutNegativeZeros
    }

    /// The point's key.
    public var name: PointName { PointName(time: self.location.time, stream: self.stream, seq: self.seq) }
}

/// A trip or an event in a store.
public struct DocumentRow<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// The key of its stream.
    public var stream: Int64
    /// The trip or the event.
    public var document: RecordedDocument<Value>
}

/// A complete run of points in a store.
public struct RunRow: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// The run.
    public var run: PointRun

    /// Makes a row.
    public init(_ trackable: Int64, _ run: PointRun) {
        self.trackable = trackable
        self.run = run
    }
}

/// A presence or a resolution in a store.
public struct StateRow: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// The arrival of the message.
    public var receivedAt: UnixTime
    /// The new value.
    public var change: StateChange
}

/// The coverage of a stream before and after a batch.
public struct CoverageChange: Hashable, Sendable {
    /// The stored coverage.
    public var before: StreamCoverage
    /// The coverage to store.
    public var after: StreamCoverage

    init(before: StreamCoverage) {
        self.before = before
        self.after = before
    }

    /// The difference as rows: the lowest numbers of the ranges to delete, and the ranges to insert or overwrite.
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
