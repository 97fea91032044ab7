/// What a batch changes in a store: rows to be written in one transaction.
public struct RecordingChanges: Sendable {
    /// New points, by trackable and time. One without a stream may be there already: then nothing is done.
    public internal(set) var points: [PointRow] = []
    /// New versions of trips.
    public internal(set) var trips: [DocumentRow<Trip>] = []
    /// New events.
    public internal(set) var events: [DocumentRow<TrackingEvent>] = []
    /// Runs of points that are complete.
    public internal(set) var runs: [RunRow] = []
    /// What is known of streams, by their keys, where something came.
    public internal(set) var coverage: [Int64: CoverageChange] = [:]
    /// Trackables of which the last position, the open run or the recent streams have changed, by their keys.
    public internal(set) var trackables: [Int64: RecordingLedger.Trackable] = [:]
    /// How many records came again, by the stream's key.
    public internal(set) var duplicates: [Int64: Int] = [:]
    /// How many points had a wrong clock, by the stream's key.
    public internal(set) var clockFaults: [Int64: Int] = [:]
    /// Streams, by their keys, with too many gaps to take a record that would begin another: it is not acknowledged.
    public internal(set) var tooManyGaps: Set<Int64> = []
    /// Presences and resolutions; one like the last of its name is nothing new.
    public internal(set) var states: [StateRow] = []
    /// What is set aside.
    public internal(set) var refused: [RefusedMessage] = []
    /// What may be acknowledged once the changes are durable: of every trackable that something came for.
    public internal(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]

    init() {}
}

/// Names a point among those of its trackable.
public struct PointName: Hashable, Comparable, Sendable {
    /// The time of the fix.
    public var time: UnixTime
    /// The key of its stream; 0 for a point without one.
    public var stream: Int64
    /// Its number in the stream; without one its ``Location/placeKey``.
    public var seq: Int64

    /// Makes a name.
    public init(time: UnixTime, stream: Int64, seq: Int64) {
        self.time = time
        self.stream = stream
        self.seq = seq
    }

    /// Orders as points are read: by time, then stream, then number.
    public static func < (left: Self, right: Self) -> Bool {
        (left.time, left.stream, left.seq) < (right.time, right.stream, right.seq)
    }
}

/// A point as it is stored.
public struct PointRow: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// The key of its stream; 0 for a point without one.
    public var stream: Int64
    /// Its number in the stream; without one its ``Location/placeKey``.
    public var seq: Int64
    /// Whether it was made with a clock that was not right.
    public var hasClockFault = false
    /// `true` for a point that is never the last position.
    public var isFaulty: Bool { self.hasClockFault || self.location.coordinate.isNowhere }
    /// The value of the column `clock_fault`: 1 for a wrong clock, 2 for a place at exactly [0, 0], else 0.
    public var faultCode: Int64 { self.hasClockFault ? 1 : self.location.coordinate.isNowhere ? 2 : 0 }
    /// The point.
    public var location: Location

    init(trackable: Int64, location: Location) {
        self.trackable = trackable
        self.stream = 0
        self.seq = location.placeKey
        self.location = location.withoutNegativeZeros
    }

    /// Its name.
    public var name: PointName { PointName(time: self.location.time, stream: self.stream, seq: self.seq) }
}

/// A trip or an event as it is stored.
public struct DocumentRow<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// The key of its stream.
    public var stream: Int64
    /// What it is.
    public var document: RecordedDocument<Value>
}

/// A complete run of points.
public struct RunRow: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// Where and when it is.
    public var run: PointRun

    /// Makes a row.
    public init(_ trackable: Int64, _ run: PointRun) {
        self.trackable = trackable
        self.run = run
    }
}

/// A presence or a resolution as it is stored.
public struct StateRow: Hashable, Sendable {
    /// The key of its trackable.
    public var trackable: Int64
    /// When it came.
    public var receivedAt: UnixTime
    /// What stands from then on.
    public var change: StateChange
}

/// What was known of a stream, and what is.
public struct CoverageChange: Hashable, Sendable {
    /// As it is stored.
    public var before: StreamCoverage
    /// As it is to be stored.
    public var after: StreamCoverage

    init(before: StreamCoverage) {
        self.before = before
        self.after = before
    }

    /// The first numbers of ranges that are no more, and the ranges that are new or another.
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
        // A range that is of another mark now is written over.
        let firsts = Set(written.map(\.seqs.lowerBound))
        return (removed.filter { !firsts.contains($0) }, written)
    }
}
