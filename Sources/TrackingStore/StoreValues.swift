public import TrackingCore

/// What came of storing a batch.
public struct StoreReport: Hashable, Sendable {
    /// What may be acknowledged, of every trackable that something came for.
    public var acknowledgements: [TrackableID: Acknowledgement]
    /// How many points, trips and events were new.
    public var stored: Int
    /// How many came again.
    public var duplicates: Int
    /// How many messages and records were set aside.
    public var refused: Int
    /// In how many streams a record was not taken, because of more than ``StreamCoverage/maximumRanges`` gaps: it is not
    /// acknowledged, and comes again.
    public var overfull: Int

    init(_ changes: RecordingChanges, newPoints: Int) {
        self.acknowledgements = changes.acknowledgements
        self.stored = newPoints + changes.trips.count + changes.events.count
        self.duplicates = changes.duplicates.values.reduce(changes.points.count - newPoints, +)
        self.refused = changes.refused.count
        self.overfull = changes.tooManyGaps.count
    }
}

/// From a moment, included, to another, excluded.
public struct TimeSpan: Hashable, Sendable {
    /// The first moment; `nil` for since ever.
    public var from: UnixTime?
    /// The end, which does not belong to it; `nil` for none.
    public var to: UnixTime?

    /// Makes a span.
    public init(from: UnixTime? = nil, to: UnixTime? = nil) {
        self.from = from
        self.to = to
    }

    /// All of time.
    public static let all = TimeSpan()

    /// Where a search begins, and where it ends.
    var bounds: (from: Double, to: Double) { (self.from?.seconds ?? -.infinity, self.to?.seconds ?? .infinity) }
}

/// Which points of one trackable are read.
public struct PointQuery: Hashable, Sendable {
    /// Whose.
    public var trackable: TrackableID
    /// When.
    public var times: TimeSpan
    /// Where; `nil` for everywhere.
    public var box: GeoBox?
    /// Of which trip; `nil` for any and none.
    public var tripID: String?

    /// Makes a query.
    public init(
        _ trackable: TrackableID, during times: TimeSpan = .all, in box: GeoBox? = nil, tripID: String? = nil
    ) {
        self.trackable = trackable
        self.times = times
        self.box = box
        self.tripID = tripID
    }
}

/// A point as it is read.
public struct StoredPoint: Hashable, Sendable {
    /// The point.
    public var location: Location
    /// Whether it was made with a clock that was not right, seen from when it came.
    public var hasClockFault: Bool
}

/// Some points, and where to go on.
public struct PointPage: Hashable, Sendable {
    /// The points, by time, then the stream's name, then `seq`.
    public var points: [StoredPoint]
    /// Where the next page begins; `nil` when this is the last.
    public var next: PointName?

    /// The page after the last.
    static let end = PointPage(points: [], next: nil)
}

/// Where a trackable was last.
public struct LastPosition: Hashable, Sendable {
    /// Which.
    public var trackable: TrackableID
    /// Where, and when.
    public var location: Location

    /// Makes it.
    public init(trackable: TrackableID, location: Location) {
        self.trackable = trackable
        self.location = location
    }
}

/// The newest times of what is stored.
public struct NewestTimes: Hashable, Sendable {
    /// That of a position whose clock was right; up to some moments before the newest.
    public var position: UnixTime?
    /// When a presence or a resolution last came, by the clock of who stored it.
    public var state: UnixTime?

    /// Makes it.
    public init(position: UnixTime? = nil, state: UnixTime? = nil) {
        self.position = position
        self.state = state
    }
}

extension Sequence<LastPosition> {
    /// Those within `distance` of a place, the nearest first.
    public func near(_ place: Coordinate, within distance: Meters) -> [LastPosition] {
        self.map { (position: $0, distance: $0.location.coordinate.distance(to: place)) }
            .filter { $0.distance <= distance }
            .sorted { ($0.distance, $0.position.trackable.rawValue) < ($1.distance, $1.position.trackable.rawValue) }
            .map(\.position)
    }
}

/// A trackable that something is stored of.
public struct TrackableSummary: Hashable, Sendable {
    /// Which.
    public var id: TrackableID
    /// The time of its earliest point.
    public var first: UnixTime?
    /// The time of its last position whose clock was right.
    public var last: UnixTime?
    /// How many streams it has.
    public var streams: Int

    /// Makes a summary; without the others, of one that nothing is stored of.
    public init(id: TrackableID, first: UnixTime? = nil, last: UnixTime? = nil, streams: Int = 0) {
        self.id = id
        self.first = first
        self.last = last
        self.streams = streams
    }
}

/// What the store knows of a trackable's records.
public struct VerifyReport: Hashable, Sendable {
    /// Its streams, by name.
    public var streams: [StreamReport]
    /// How many points there are, those without a stream included.
    public var points: Int
    /// How many of the points have no stream.
    public var unnumbered: Int
    /// How many of those had a wrong clock.
    public var unnumberedClockFaults: Int
    /// What is of an earlier time was erased.
    public var erasedBefore: UnixTime?
    /// When a recorder came back for which the broker had kept no session: of any trackable something may be missing from before,
    /// where the devices do not send it again. The newest first, at most ``StoreLimits/possibleGaps``.
    public var possibleGaps: [UnixTime] = []

    /// Whether every number of every stream is stored or declared missing.
    public var isComplete: Bool { self.streams.allSatisfy { $0.undeclaredGaps.isEmpty } }

    /// What is known of one stream.
    public struct StreamReport: Hashable, Sendable {
        /// Its name.
        public var id: StreamID
        /// What is known of its numbers.
        public var coverage: StreamCoverage
        /// How many records came again.
        public var duplicates: Int
        /// How many points had a wrong clock.
        public var clockFaults: Int

        /// The ranges of numbers of which nothing is known: no more than about twice ``StreamCoverage/maximumRanges``.
        public var undeclaredGaps: [ClosedRange<UInt64>] { self.coverage.undeclaredGaps() }
    }
}

/// What was erased.
public struct EraseReport: Hashable, Sendable {
    /// How many points.
    public var points = 0
    /// How many trips.
    public var trips = 0
    /// How many events.
    public var events = 0
    /// How many presences and resolutions.
    public var states = 0
    /// How many messages that were set aside.
    public var quarantined = 0
    /// What still has it although it was asked for, and what to do about that: it is not done.
    public var remains: [String] = []
    /// What may have it where the store does not reach.
    public var elsewhere: [String] = []
}
