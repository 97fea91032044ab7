public import TrackingCore

/// Lists the trips and stops of a history. Recorded trips are those that a publisher recorded as trips. In the time
/// between them, trips and stops are detected in the points.
///
/// Append the points between ``from`` and ``to`` in order of time. Each call returns the trips and stops that have
/// ended.
public struct TripListing: Sendable {
    /// An entry of the list: a recorded trip, or a trip or stop that was detected in the points of the history.
    public enum Entry: Hashable, Sendable {
        /// A recorded trip. `topSpeed` is the greatest speed of its points in metres a second; `nil` when it is
        /// unknown.
        case recorded(Trip, topSpeed: Double?)
        /// A trip or stop that was detected in the points between the recorded trips.
        case found(TripDetector.Finding)
    }

    /// A recorded trip that has begun, and is not over at the time of the point that was appended last.
    private struct Open: Sendable {
        let trip: Trip
        /// The distance and the speeds of the points that were appended during the trip so far; `nil` before the first
        /// point.
        var track: DetectedTrip?

        /// The end of the trip, in seconds since 1970. If the end of an active trip was not recorded, the trip counts
        /// as over after its last recorded version and a further time: the longest silence, after which a publisher
        /// ends a trip by itself.
        var end: Double {
            if let end = self.trip.end { return end.seconds }
            let last = self.trip.start.seconds + self.trip.duration
            return self.trip.state == .active ? last + TripStateMachine.longestSilence.inSeconds : last
        }
        var entry: Entry { .recorded(self.trip, topSpeed: self.track?.topSpeed) }

        mutating func pass(_ point: Location) {
            guard let track = self.track else {
                self.track = DetectedTrip(start: point)
                return
            }
            if point.time > track.end.time { self.track?.move(to: point) }
        }
    }

    /// The beginning of the time range whose points must be appended; `nil` for no limit. It is before the beginning of
    /// the requested range when a recorded trip began earlier.
    public let from: UnixTime?
    /// The end of the time range whose points must be appended; `nil` for no limit. It is after the end of the
    /// requested range when a recorded trip ended later.
    public let to: UnixTime?
    /// The requested range of times, in seconds since 1970. Trips and stops are detected only in the points of this
    /// range.
    private let asked: Range<Double>
    private var upcoming: ArraySlice<Trip>
    private var open: [Open] = []
    private var detector: TripDetector

    /// Makes a listing of the trips and stops in a requested range of times. No point is appended yet.
    ///
    /// - Parameters:
    ///   - recorded: The recorded trips that overlap the requested time, in any order.
    ///   - from: The begin of the requested time; `nil` for no limit.
    ///   - to: The end of the requested time; `nil` for no limit.
    ///   - rules: The thresholds for detected trips and stops.
    /// - Throws: `TrackingError.Code.invalidConfiguration` when a threshold is not above zero.
    public init(
        recorded: [Trip], from: UnixTime? = nil, to: UnixTime? = nil, rules: TripDetector.Rules = .init()
    ) throws(TrackingError) {
        let begin = from?.seconds ?? -.infinity
        self.asked = begin..<max(begin, to?.seconds ?? .infinity)
        self.from = from.map { from in recorded.reduce(from) { min($0, $1.start) } }
        self.to = to.map { to in recorded.reduce(to) { max($0, UnixTime(Open(trip: $1).end.nextUp)) } }
        self.upcoming = recorded.sorted { ($0.start.seconds, $0.id) < ($1.start.seconds, $1.id) }[...]
        self.detector = try TripDetector(rules: rules)
    }

    /// Appends a point of the history, and returns the trips and stops that are over because of it.
    public mutating func append(_ point: Location) -> [Entry] {
        var entries = self.begin(before: point.time) + self.close(before: point.time.seconds)
        guard self.open.isEmpty else {
            for index in self.open.indices { self.open[index].pass(point) }
            return entries
        }
        guard self.asked.contains(point.time.seconds) else { return entries }
        entries += self.detector.append(point).map { .found($0) }
        return entries
    }

    /// Ends the listing after the last point was appended, and returns the trips and stops that were not returned
    /// before, also those in progress.
    public mutating func finish() -> [Entry] {
        self.begin(before: nil) + self.close(before: nil)
    }

    /// Begins each recorded trip that starts at or before `time`, or all remaining ones if `time` is `nil`. The
    /// beginning of a recorded trip ends the detected trip or stop that is in progress.
    ///
    /// - Returns: The trips and stops that ended because of this.
    private mutating func begin(before time: UnixTime?) -> [Entry] {
        var entries: [Entry] = []
        while let next = self.upcoming.first, time.map({ next.start <= $0 }) ?? true {
            entries += self.detector.finish().map { .found($0) } + self.close(before: next.start.seconds)
            self.open.append(Open(trip: self.upcoming.removeFirst()))
        }
        return time == nil ? entries + self.detector.finish().map { .found($0) } : entries
    }

    private mutating func close(before time: Double?) -> [Entry] {
        func isOver(_ open: Open) -> Bool { time.map { open.end < $0 } ?? true }
        defer { self.open.removeAll(where: isOver) }
        return self.open.filter(isOver).map(\.entry)
    }
}
