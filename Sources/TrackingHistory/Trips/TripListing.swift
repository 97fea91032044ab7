public import TrackingCore

/// Lists the trips and stops of a history: recorded trips, and trips and stops detected in the points of the time
/// between them. Append the points between ``from`` and ``to`` in order of time; each call returns the entries that
/// have ended.
public struct TripListing: Sendable {
    /// A trip or stop of the history.
    public enum Entry: Hashable, Sendable {
        /// A recorded trip, with the greatest speed of its points in m/s; `nil` when they have none.
        case recorded(Trip, topSpeed: Double?)
        /// A detected trip or stop.
        case found(TripDetector.Finding)
    }

    /// A recorded trip during which points are appended.
    private struct Open: Sendable {
        let trip: Trip
        /// The distance and the speeds of the points appended during the trip so far; `nil` before the first.
        var track: DetectedTrip?

        /// The end of the trip. A trip without a recorded end counts as over at the time when it would have ended
        /// automatically.
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

    /// The time from which points are needed. It may precede the requested time, because a recorded trip may have begun
    /// earlier. `nil` for no limit.
    public let from: UnixTime?
    /// The time before which points are needed; `nil` for no limit.
    public let to: UnixTime?
    /// The requested time. Trips and stops are detected only within it.
    private let asked: Range<Double>
    private var upcoming: ArraySlice<Trip>
    private var open: [Open] = []
    private var detector: TripDetector

    /// Makes a listing without points.
    ///
    /// - Parameters:
    ///   - recorded: The recorded trips that overlap the requested time, in any order.
    ///   - from: The begin of the requested time; `nil` for no limit.
    ///   - to: The end of the requested time; `nil` for no limit.
    ///   - rules: The thresholds for detected stops.
    /// - Throws: `TrackingError.Code.invalidConfiguration` when a rule is not above zero.
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

    /// Appends a point of the history, and returns the trips and stops that have ended.
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

    /// Ends the history, and returns the remaining trips and stops.
    public mutating func finish() -> [Entry] {
        self.begin(before: nil) + self.close(before: nil)
    }

    /// Begins the recorded trips up to a time; all with `nil`. A detected trip or stop ends where a recorded trip
    /// begins.
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
