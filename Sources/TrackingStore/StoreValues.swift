public import TrackingCore

/// The result of storing a batch.
public struct StoreReport: Hashable, Sendable {
    /// The acknowledgement of each trackable in the batch.
    public var acknowledgements: [TrackableID: Acknowledgement]
    /// The number of points, trips and events that were new.
    public var stored: Int
    /// The number of points, trips and events that were stored before.
    public var duplicates: Int
    /// The number of messages and records that were quarantined.
    public var refused: Int
    /// The number of streams of which a record was not accepted, because the stream has more than
    /// ``StreamCoverage/maximumRanges`` gaps. Such a record is not acknowledged, so its device sends it again.
    public var overfull: Int

    init(_ changes: RecordingChanges, newPoints: Int) {
        self.acknowledgements = changes.acknowledgements
        self.stored = newPoints + changes.trips.count + changes.events.count
        self.duplicates = changes.duplicates.values.reduce(changes.points.count - newPoints, +)
        self.refused = changes.refused.count
        self.overfull = changes.tooManyGaps.count
    }
}

/// A time span from a first moment, which is included, to an end, which is excluded.
public struct TimeSpan: Hashable, Sendable {
    /// The first moment of the span; `nil` for no limit.
    public var from: UnixTime?
    /// The end of the span, which is excluded; `nil` for no limit.
    public var to: UnixTime?

    /// Makes a time span; `nil` means no limit.
    public init(from: UnixTime? = nil, to: UnixTime? = nil) {
        self.from = from
        self.to = to
    }

    /// The time span without limits.
    public static let all = TimeSpan()

    /// The limits of the span in seconds of Unix time; infinite where the span has no limit.
    var bounds: (from: Double, to: Double) { (self.from?.seconds ?? -.infinity, self.to?.seconds ?? .infinity) }
}

/// A selection of the points of one trackable.
public struct PointQuery: Hashable, Sendable {
    /// The trackable.
    public var trackable: TrackableID
    /// The time span of the points.
    public var times: TimeSpan
    /// The area of the points; `nil` for everywhere.
    public var box: GeoBox?
    /// The trip of the points; `nil` for points of any trip or of none.
    public var tripID: String?

    /// Makes a selection of the points of one trackable; by default, all its points.
    public init(
        _ trackable: TrackableID, during times: TimeSpan = .all, in box: GeoBox? = nil, tripID: String? = nil
    ) {
        self.trackable = trackable
        self.times = times
        self.box = box
        self.tripID = tripID
    }
}

/// A point of the history.
public struct StoredPoint: Hashable, Sendable {
    /// The point.
    public var location: Location
    /// `true` if the clock of the device was wrong when the point was recorded, compared with the time at which
    /// it was received.
    public var hasClockFault: Bool
}

/// A page of points.
public struct PointPage: Hashable, Sendable {
    /// The points, by time, then the stream's name, then `seq`.
    public var points: [StoredPoint]
    /// The point at which the next page begins; `nil` if this page is the last.
    public var next: PointName?

    /// The empty page that follows the last page.
    static let end = PointPage(points: [], next: nil)
}

/// The last position of a trackable.
public struct LastPosition: Hashable, Sendable {
    /// The trackable.
    public var trackable: TrackableID
    /// The position and its time.
    public var location: Location

    /// Makes a last position.
    public init(trackable: TrackableID, location: Location) {
        self.trackable = trackable
        self.location = location
    }
}

/// The newest times in a store.
public struct NewestTimes: Hashable, Sendable {
    /// The time of a recent position with a right clock. It may be slightly earlier than the newest.
    public var position: UnixTime?
    /// The time at which the last presence or resolution was received, by the clock of the recorder.
    public var state: UnixTime?

    /// Makes a pair of times.
    public init(position: UnixTime? = nil, state: UnixTime? = nil) {
        self.position = position
        self.state = state
    }
}

extension Sequence<LastPosition> {
    /// Returns the positions within `distance` of a place, the nearest first.
    public func near(_ place: Coordinate, within distance: Meters) -> [LastPosition] {
        self.map { (position: $0, distance: $0.location.coordinate.distance(to: place)) }
            .filter { $0.distance <= distance }
            .sorted { ($0.distance, $0.position.trackable.rawValue) < ($1.distance, $1.position.trackable.rawValue) }
            .map(\.position)
    }
}

/// A trackable of the history.
public struct TrackableSummary: Hashable, Sendable {
    /// The trackable's identifier.
    public var id: TrackableID
    /// The time of the trackable's earliest point; `nil` without points.
    public var first: UnixTime?
    /// The time of the trackable's last position that was recorded with a right clock; `nil` for none.
    public var last: UnixTime?
    /// The number of the trackable's streams.
    public var streams: Int

    /// Makes a summary; by default that of a trackable without records.
    public init(id: TrackableID, first: UnixTime? = nil, last: UnixTime? = nil, streams: Int = 0) {
        self.id = id
        self.first = first
        self.last = last
        self.streams = streams
    }
}

/// A report on the completeness of a trackable's records.
public struct VerifyReport: Hashable, Sendable {
    /// The reports on the trackable's streams, by name.
    public var streams: [StreamReport]
    /// The number of points, including those without a stream.
    public var points: Int
    /// The number of points without a stream.
    public var unnumbered: Int
    /// The number of points without a stream that were recorded with a wrong clock.
    public var unnumberedClockFaults: Int
    /// The time before which all records of the trackable were erased; `nil` if none were.
    public var erasedBefore: UnixTime?
    /// The times at which a recorder reconnected and the broker had not kept its session. Records of any
    /// trackable from before such a time may be missing, unless the devices send them again. The newest first,
    /// at most ``StoreLimits/possibleGaps``.
    public var possibleGaps: [UnixTime] = []

    /// `true` if every number of every stream is stored or declared missing.
    public var isComplete: Bool { self.streams.allSatisfy { $0.undeclaredGaps.isEmpty } }

    /// A report on the completeness of one stream.
    public struct StreamReport: Hashable, Sendable {
        /// The id of the stream.
        public var id: StreamID
        /// The state of each record number of the stream.
        public var coverage: StreamCoverage
        /// The number of records that were received more than once.
        public var duplicates: Int
        /// The number of points that were recorded with a wrong clock.
        public var clockFaults: Int

        /// The ranges of numbers that are neither stored nor declared missing: at most about twice
        /// ``StreamCoverage/maximumRanges``.
        public var undeclaredGaps: [ClosedRange<UInt64>] { self.coverage.undeclaredGaps() }
    }
}

/// The result of erasing records.
public struct EraseReport: Hashable, Sendable {
    /// The number of erased points.
    public var points = 0
    /// The number of erased trips.
    public var trips = 0
    /// The number of erased events.
    public var events = 0
    /// The number of erased presences and resolutions.
    public var states = 0
    /// The number of erased quarantined messages.
    public var quarantined = 0
    /// The places that still have erased data, each with the remedy. The erasure is complete only if this is
    /// empty.
    public var remains: [String] = []
    /// The places outside the store that may still have the erased data, such as backups.
    public var elsewhere: [String] = []
}
