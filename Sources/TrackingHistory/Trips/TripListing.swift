public import TrackingCore

/// The trips and stops of a history: those that were recorded, and what is found in the points of the time between them. Give
/// it the points in the order of their times, those from ``from`` to ``to``; it gives what ended.
public struct TripListing: Sendable {
    /// What there was.
    public enum Entry: Hashable, Sendable {
        /// A trip that was recorded; with the greatest speed of its points, in m/s, where it has any.
        case recorded(Trip, topSpeed: Double?)
        /// A trip or stop that was found.
        case found(TripDetector.Finding)
    }

    /// A recorded trip whose time is being read.
    private struct Open: Sendable {
        let trip: Trip
        /// What its points say.
        var track: DetectedTrip?

        /// When it ended. Where no end was told, it is over when nothing was heard of it for so long that it would have ended
        /// by itself.
        var end: Double {
            if let end = self.trip.end { return end.seconds }
            let heard = self.trip.start.seconds + self.trip.duration
            return self.trip.state == .active ? heard + TripStateMachine.longestSilence.inSeconds : heard
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

    /// When the first point is that it needs: a recorded trip may have begun before what was asked for. `nil` for since ever.
    public let from: UnixTime?
    /// Up to when it needs points, which does not belong to it; `nil` for no end.
    public let to: UnixTime?
    /// What was asked for: only there something is found.
    private let asked: Range<Double>
    private var upcoming: ArraySlice<Trip>
    private var open: [Open] = []
    private var detector: TripDetector

    /// Makes a listing of which no point was read.
    ///
    /// - Parameters:
    ///   - recorded: The trips that were recorded and were under way in the time, in any order.
    ///   - from: When the time begins that was asked for; `nil` for since ever.
    ///   - to: When it ends; `nil` for no end.
    /// - Throws: `invalidConfiguration` when a rule is not above zero.
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

    /// Takes in the next point, and gives what ended with it or before.
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

    /// The history ends here: gives the rest.
    public mutating func finish() -> [Entry] {
        self.begin(before: nil) + self.close(before: nil)
    }

    /// Begins the recorded trips up to a moment; `nil` for all. What was found ends where one begins.
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
