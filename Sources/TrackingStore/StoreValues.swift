public import TrackingCore

/// The result of storing one batch of records in the history: the acknowledgements, and the counts of new, repeated and
/// rejected records.
public struct StoreReport: Hashable, Sendable {
    /// The acknowledgement for each trackable in the batch: the record numbers up to which each record is stored,
    /// erased, quarantined, or gone from the device, by stream.
    public var acknowledgements: [TrackableID: Acknowledgement]
    /// The number of points, trips and events of the batch that were not stored before.
    public var stored: Int
    /// The number of points, trips and events of the batch that were stored already.
    public var duplicates: Int
    /// The number of messages and records that the history could not accept. They were quarantined, which means stored
    /// apart with the reason. Notes of possible gaps are stored there too, but are not counted.
    public var refused: Int
    /// The number of streams of which the history rejected a record, because the stream already has
    /// ``/TrackingCore/StreamCoverage/maximumRanges`` separate ranges of known numbers. The record is not acknowledged,
    /// so the device sends it again later.
    public var overfull: Int

    init(_ changes: RecordingChanges, newPoints: Int) {
        self.acknowledgements = changes.acknowledgements
        self.stored = newPoints + changes.trips.count + changes.events.count
        self.duplicates = changes.duplicates.values.reduce(changes.points.count - newPoints, +)
        self.refused = changes.refused.count { !$0.isGap }
        self.overfull = changes.tooManyGaps.count
    }
}

/// A time span. It includes its beginning and excludes its end.
public struct TimeSpan: Hashable, Sendable {
    /// The beginning of the time span, which belongs to the span; `nil` for a span without a beginning.
    public var from: UnixTime?
    /// The end of the time span, which no longer belongs to the span; `nil` for a span without an end.
    public var to: UnixTime?

    /// Makes a time span from a beginning to an end; `nil` means no limit.
    public init(from: UnixTime? = nil, to: UnixTime? = nil) {
        self.from = from
        self.to = to
    }

    /// The time span that contains every time.
    public static let all = TimeSpan()

    /// The limits of the span in seconds of Unix time; −∞ or +∞ where the span has no limit.
    var bounds: (from: Double, to: Double) { (self.from?.seconds ?? -.infinity, self.to?.seconds ?? .infinity) }
}

/// A query for points of one trackable in the history. It can restrict their times, their places and their trip.
public struct PointQuery: Hashable, Sendable {
    /// The trackable whose points are selected.
    public var trackable: TrackableID
    /// The time span in which the selected points lie.
    public var times: TimeSpan
    /// The area in which the selected points lie; `nil` for any place.
    public var box: GeoBox?
    /// The id of the trip to which the selected points belong; `nil` selects points with or without a trip.
    public var tripID: String?

    /// Makes a query for the points of one trackable. By default, it selects all of them.
    public init(
        _ trackable: TrackableID, during times: TimeSpan = .all, in box: GeoBox? = nil, tripID: String? = nil
    ) {
        self.trackable = trackable
        self.times = times
        self.box = box
        self.tripID = tripID
    }
}

/// A point that is stored in the history, and whether its time or place is faulty.
public struct StoredPoint: Hashable, Sendable {
    /// The point as the device recorded it: place, time and the other measurements.
    public var location: Location
    /// `true` if the point has a fault: its time comes from a wrong clock, or its place is [0, 0]. A clock is wrong if
    /// its time is before 2001 or more than 60 s after the receipt of the point, or if the device marked it as unset.
    public var hasClockFault: Bool
}

/// One page of the points that a query selects in the history, with the position of the next page.
public struct PointPage: Hashable, Sendable {
    /// The points of this page, ordered by time, then by the name of the stream, then by `seq`, the number in the
    /// stream.
    public var points: [StoredPoint]
    /// The point after which the next page begins; `nil` if this page is the last.
    public var next: PointName?

    /// A page without points after which no page follows. It is the result for a trackable that the history does not
    /// contain.
    static let end = PointPage(points: [], next: nil)
}

/// A trackable with its newest position in the history. Positions with a wrong clock or at [0, 0] do not count.
public struct LastPosition: Hashable, Sendable {
    /// The trackable to which the last position belongs.
    public var trackable: TrackableID
    /// The last position, with its time and the other measurements.
    public var location: Location

    /// Makes the pair of a trackable's id and its newest position in the history.
    public init(trackable: TrackableID, location: Location) {
        self.trackable = trackable
        self.location = location
    }
}

/// The newest times in a history, which help to judge whether the clock of this computer can be right.
public struct NewestTimes: Hashable, Sendable {
    /// The time of the newest position in the history. Points with a time from a wrong clock do not count. It may be
    /// slightly too early, because the value is not updated with every point. `nil` without positions.
    public var position: UnixTime?
    /// The time at which the recorder last received a presence or a resolution of any trackable, by the recorder's
    /// clock; `nil` if it received none.
    public var state: UnixTime?

    /// Makes the newest times of a history from the time of its newest position and the time of the last received
    /// presence or resolution; `nil` for none.
    public init(position: UnixTime? = nil, state: UnixTime? = nil) {
        self.position = position
        self.state = state
    }
}

extension Sequence<LastPosition> {
    /// Returns the last positions that are within `distance` of a place, the nearest first.
    public func near(_ place: Coordinate, within distance: Meters) -> [LastPosition] {
        self.map { (position: $0, distance: $0.location.coordinate.distance(to: place)) }
            .filter { $0.distance <= distance }
            .sorted { ($0.distance, $0.position.trackable.rawValue) < ($1.distance, $1.position.trackable.rawValue) }
            .map(\.position)
    }
}

/// A summary of one trackable in the history: the times of its first and last positions, and the number of its streams.
public struct TrackableSummary: Hashable, Sendable {
    /// The id of the trackable that this summary is about.
    public var id: TrackableID
    /// The time of the trackable's earliest stored point; `nil` if it has no points.
    public var first: UnixTime?
    /// The time of the trackable's last position, ignoring positions with a wrong clock; `nil` for none.
    public var last: UnixTime?
    /// The number of the trackable's streams, the numbered sequences of its records.
    public var streams: Int

    /// Makes a summary of a trackable. By default, the trackable has no points and no streams.
    public init(id: TrackableID, first: UnixTime? = nil, last: UnixTime? = nil, streams: Int = 0) {
        self.id = id
        self.first = first
        self.last = last
        self.streams = streams
    }
}

/// A report on stored and missing records of a trackable.
public struct VerifyReport: Hashable, Sendable {
    /// The reports on the single streams of the trackable, in the order of the streams' names.
    public var streams: [StreamReport]
    /// The number of stored points, including those that belong to no stream.
    public var points: Int
    /// The number of stored points that belong to no stream and thus have no record number.
    public var unnumbered: Int
    /// The number of stored points that belong to no stream and have a time from a wrong clock.
    public var unnumberedClockFaults: Int
    /// The time before which the user erased all records of the trackable; `nil` if none were erased.
    public var erasedBefore: UnixTime?
    /// The times at which a recorder reconnected and found that the broker had not kept its MQTT session. Records of
    /// any trackable from before such a time may be missing. The list begins with the newest time and has at most
    /// ``StoreLimits/possibleGaps`` entries.
    public var possibleGaps: [UnixTime] = []

    /// `true` if no record number of any stream is missing. Each number up to the highest known one of its stream is
    /// stored, erased, quarantined, or declared by the device to be gone.
    public var isComplete: Bool { self.streams.allSatisfy { $0.undeclaredGaps.isEmpty } }

    /// A report on stored and missing records of one stream, a numbered sequence of records.
    public struct StreamReport: Hashable, Sendable {
        /// The id of the stream whose stored and missing records this report describes.
        public var id: StreamID
        /// The state of each record number of the stream, such as stored, erased or missing.
        public var coverage: StreamCoverage
        /// The number of repetitions: records that were received again after they were stored.
        public var duplicates: Int
        /// The number of the stream's points that have a time from a wrong clock.
        public var clockFaults: Int

        /// The ranges of missing record numbers: numbers up to the highest known one that have no state. The device did
        /// not declare these records to be gone.
        public var undeclaredGaps: [ClosedRange<UInt64>] { self.coverage.undeclaredGaps() }
    }
}

/// The result of erasing the records of a trackable.
public struct EraseReport: Hashable, Sendable {
    /// The number of points that were erased from the history.
    public var points = 0
    /// The number of trips that were erased from the history.
    public var trips = 0
    /// The number of events that were erased from the history.
    public var events = 0
    /// The number of erased states: presences and resolutions that the recorder received.
    public var states = 0
    /// The number of erased quarantined messages, which the history could not accept.
    public var quarantined = 0
    /// The places that still contain erased data, such as a file, each with advice for the user. The erasure is
    /// complete only if this list is empty.
    public var remains: [String] = []
    /// The places outside the history database that may still contain the erased data, such as backups.
    public var elsewhere: [String] = []
}
