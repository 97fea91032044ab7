public import TrackingCore

/// Finds trips and stops in a history where none were recorded (`docs/history.md`, "Trips and stops"). Give it the points in
/// the order of their times; it keeps a bounded number of them.
///
/// - It has stopped when all points of ``Rules/stopDuration`` lay within ``Rules/stopRadius`` of the first of them, and goes on
///   with the first point that is further than that from the middle of the stop.
/// - What lies between two stops is a trip, from the last point of the one to the first of the other.
/// - After a gap longer than ``Rules/maximumGap`` nothing is known of the way: where the next point is further away than
///   ``Rules/stopRadius``, trip or stop end with the last point before, and something new begins. Where it is not, it stood.
/// - Points that are known to be worse than ``Rules/maximumAccuracy`` are passed over, and so are points that are not later than
///   the one before. What never got further than ``Rules/stopRadius`` from where it began is no trip.
public struct TripDetector: Sendable {
    /// What counts as a stop, and what as a gap.
    public struct Rules: Hashable, Sendable {
        /// It stands while it is within this of a place, > 0 m.
        public var stopRadius: Meters = 200
        /// It has stopped once it stood this long, > 0.
        public var stopDuration: Duration = .seconds(180)
        /// Between points further apart than this the way is not known, > 0.
        public var maximumGap: Duration = .seconds(600)
        /// Points with a greater accuracy radius do not count, > 0 m.
        public var maximumAccuracy: Meters = 200

        /// The defaults.
        public init() {}
    }

    /// What was found, in the order of time.
    public enum Finding: Hashable, Sendable {
        case trip(DetectedTrip)
        case stop(DetectedStop)
    }

    /// A point at which a stop may begin, and the trip up to it.
    private struct Candidate: Sendable {
        let point: Location
        let trip: DetectedTrip
    }

    private enum State: Sendable {
        /// No point yet, or none since a gap. Can transition to: `moving`.
        case unknown
        /// Not yet long enough in one place. Can transition to: `stopped`, `unknown`.
        case moving(DetectedTrip, candidates: [Candidate])
        /// In one place. Can transition to: `moving`, `unknown`.
        case stopped(DetectedStop)
    }

    /// What counts as a stop, and what as a gap.
    public let rules: Rules
    private var state = State.unknown
    private var lastPoint: Location?

    /// Candidates lie at least this share of ``Rules/stopDuration`` apart, which bounds how many there are.
    private static let candidateShare = 1.0 / 180

    /// Makes a detector that was given nothing.
    ///
    /// - Throws: `invalidConfiguration` when a rule is not above zero.
    public init(rules: Rules = Rules()) throws(TrackingError) {
        guard rules.stopRadius.value > 0, rules.maximumAccuracy.value > 0, rules.stopDuration > .zero,
            rules.maximumGap > .zero
        else {
            throw TrackingError(
                .invalidConfiguration, "the radius, the time, the gap and the accuracy of stops must be above 0")
        }
        self.rules = rules
    }

    /// Takes in the next point, and gives what ended with it or before.
    public mutating func append(_ point: Location) -> [Finding] {
        if let accuracy = point.accuracyHorizontal, Meters(accuracy) > self.rules.maximumAccuracy { return [] }
        if let last = self.lastPoint, point.time <= last.time { return [] }
        let ended = self.isGap(before: point) ? self.finish() : []
        self.lastPoint = point
        switch self.state {
        case .unknown:
            let trip = DetectedTrip(start: point)
            self.state = .moving(trip, candidates: [Candidate(point: point, trip: trip)])
            return ended
        case .moving(let trip, let candidates):
            self.state = .unknown  // so that the candidates have one owner, and are changed in place
            return ended + self.moved(to: point, trip, candidates)
        case .stopped(let stop): return ended + self.stayed(at: point, stop)
        }
    }

    /// The history ends here: gives the trip or stop that is under way. Points that follow begin something new.
    public mutating func finish() -> [Finding] {
        defer { self.state = .unknown }
        switch self.state {
        case .unknown: return []
        case .moving(let trip, _): return self.finding(trip)
        case .stopped(let stop): return [.stop(stop)]
        }
    }

    private func isGap(before point: Location) -> Bool {
        guard let last = self.lastPoint, point.time.since(last.time) > self.rules.maximumGap else { return false }
        return !self.isNear(point, last.coordinate)
    }

    private func isNear(_ point: Location, _ place: Coordinate) -> Bool {
        point.coordinate.distance(to: place) <= self.rules.stopRadius
    }

    private func finding(_ trip: DetectedTrip) -> [Finding] {
        trip.farthest > self.rules.stopRadius ? [.trip(trip)] : []
    }

    private mutating func stayed(at point: Location, _ stop: DetectedStop) -> [Finding] {
        guard self.isNear(point, stop.place) else {
            let trip = DetectedTrip(start: stop.end)
            return [.stop(stop)] + self.moved(to: point, trip, [Candidate(point: stop.end, trip: trip)])
        }
        var stop = stop
        stop.stay(at: point)
        self.state = .stopped(stop)
        return []
    }

    private mutating func moved(
        to point: Location, _ trip: DetectedTrip, _ candidates: consuming [Candidate]
    ) -> [Finding] {
        var trip = trip
        trip.move(to: point)
        self.consider(Candidate(point: point, trip: trip), for: &candidates)
        guard let first = candidates.first, point.time.since(first.point.time) >= self.rules.stopDuration else {
            self.state = .moving(trip, candidates: candidates)
            return []
        }
        var stop = DetectedStop(start: first.point)
        for candidate in candidates.dropFirst() { stop.stay(at: candidate.point) }
        if stop.end != point { stop.stay(at: point) }
        self.state = .stopped(stop)
        return self.finding(first.trip)
    }

    /// Drops candidates up to the first that all later ones, the new one included, are near to.
    private func consider(_ new: Candidate, for candidates: inout [Candidate]) {
        // All of them were near to the first; whatever takes its place has to be near to all that follow.
        let kept = candidates.indices.first { index in
            let place = candidates[index].point.coordinate
            guard self.isNear(new.point, place) else { return false }
            return index == 0 || candidates[(index + 1)...].allSatisfy { self.isNear($0.point, place) }
        }
        candidates.removeFirst(kept ?? candidates.count)
        let spacing = self.rules.stopDuration.inSeconds * Self.candidateShare
        if let last = candidates.last, new.point.time.since(last.point.time).inSeconds < spacing { return }
        candidates.append(new)
    }
}
