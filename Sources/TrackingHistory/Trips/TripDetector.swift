public import TrackingCore

/// Detects trips and stops in the points of a history (`docs/reference/history.md`, "Trips and stops"). Append the
/// points in order of time. The detector holds a bounded number of them.
///
/// - A stop begins when all points during ``Rules/stopDuration`` are within ``Rules/stopRadius`` of the first of them.
///   It ends before the first point that is further than this radius from the mean position of the stop.
/// - A trip extends from the last point of a stop to the first point of the next stop.
/// - When there are no points for longer than ``Rules/maximumGap``, the path is unknown. If the next point is further
///   away than ``Rules/stopRadius``, the trip or stop ends before the gap, and a new one begins after it.
/// - Points with an accuracy radius above ``Rules/maximumAccuracy`` are ignored. So are points that are not later than
///   the previous one.
/// - A trip that never leaves ``Rules/stopRadius`` around its start is dropped.
public struct TripDetector: Sendable {
    /// The thresholds of the detection: the radius and the duration of a stop, the longest time without points, and the
    /// largest accuracy radius of a point that is used.
    public struct Rules: Hashable, Sendable {
        /// The radius in metres, > 0, within which the trackable must remain for a stop to be detected.
        public var stopRadius: Meters = 200
        /// The minimum duration of a stop, > 0.
        public var stopDuration: Duration = .seconds(180)
        /// The longest time without points across which the trackable's path counts as known, > 0. Trips and stops end
        /// at a longer one, unless the next point is within ``stopRadius`` of the last point.
        public var maximumGap: Duration = .seconds(600)
        /// The greatest accuracy radius in metres of a point that is not ignored, > 0.
        public var maximumAccuracy: Meters = 200

        /// Makes rules for the detection of trips and stops with the default thresholds.
        public init() {}
    }

    /// A trip or a stop that the detector found in the points of a history.
    public enum Finding: Hashable, Sendable {
        case trip(DetectedTrip)
        case stop(DetectedStop)
    }

    /// A point of the current trip at which a stop may have begun, and the trip up to this point.
    private struct Candidate: Sendable {
        let point: Location
        let trip: DetectedTrip
    }

    private enum State: Sendable {
        /// There is no current trip or stop: no point was appended since the detector was made, since a gap without
        /// points, or since ``finish()``. Can transition to: `moving`.
        case unknown
        /// A trip is in progress, because the trackable has not stayed in one place for the duration of a stop. Can
        /// transition to: `stopped`, `unknown`.
        case moving(DetectedTrip, candidates: [Candidate])
        /// A stop is in progress. Can transition to: `moving`, `unknown`.
        case stopped(DetectedStop)
    }

    /// The thresholds by which the detector recognizes trips and stops.
    public let rules: Rules
    private var state = State.unknown
    private var lastPoint: Location?

    /// The minimum time between two stored points at which a stop may have begun, as a fraction of
    /// ``Rules/stopDuration``. The minimum limits the number of stored points.
    private static let candidateShare = 1.0 / 180

    /// Makes a detector of trips and stops to which no point was appended yet.
    ///
    /// - Throws: `TrackingError.Code.invalidConfiguration` when a threshold is not above zero.
    public init(rules: Rules = Rules()) throws(TrackingError) {
        guard rules.stopRadius.value > 0, rules.maximumAccuracy.value > 0, rules.stopDuration > .zero,
            rules.maximumGap > .zero
        else {
            throw TrackingError(
                .invalidConfiguration,
                "stopRadius, stopDuration, maximumGap and maximumAccuracy of detected stops must be above 0")
        }
        self.rules = rules
    }

    /// Appends a point of the history, and returns the trips and stops that are over because of it.
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

    /// Ends the points of the history, and returns the detected trip or stop that is in progress. A trip that never
    /// left the radius of a stop around its start is not returned. Points appended later begin new trips and stops.
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

    /// Updates the points at which a stop may have begun, for a new point. The earliest of them must have all later
    /// points, and the new one, within the radius of a stop. Points before it are removed, because the trackable has
    /// left their surroundings. The new point is added, unless the last one is only moments older.
    private func consider(_ new: Candidate, for candidates: inout [Candidate]) {
        // All candidates were near the first one. Its replacement must be near all that follow.
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
