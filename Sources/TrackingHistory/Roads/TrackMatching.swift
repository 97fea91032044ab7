public import TrackingCore

/// The division of a recorded track into runs that a routing engine matches with roads, and the joining of the matched
/// runs.
///
/// The caller appends the points in order of time. When a run is complete, the caller lets the engine match it, and
/// passes the engine's answer to ``matched(_:_:)``, before it appends the next point:
///
///     for point in points {
///         if let run = matching.append(point) { write(matching.matched(run, try await engine.match(run.request))) }
///     }
///     if let run = matching.finish() { write(matching.matched(run, try await engine.match(run.request))) }
///
/// A run ends where the engine cannot continue: at missing points, after a long gap and at a jump. A run that is full
/// ends as well, and the next run repeats its last points, because matches at the end of a run are less certain. The
/// runs are joined at one of these points, on whose match both runs agree. The memory is that of one run.
public struct TrackMatching: Sendable {
    /// The maximum number of points in a run.
    public static let maximumPoints = 2_000
    /// The number of points at the end of a full run that the next run repeats.
    public static let overlap = 20
    /// The maximum time between two consecutive points of a run.
    public static let maximumGap = Duration.seconds(60)
    /// The maximum distance between two consecutive points of a run. Valhalla does not connect points that are farther
    /// apart.
    public static let maximumJump: Meters = 2_000
    /// The maximum sum of the distances between the points of a run. Valhalla rejects more than 200 km.
    public static let maximumLength: Meters = 150_000

    /// Consecutive points of a track that a routing engine matches together.
    public struct Run: Hashable, Sendable {
        /// The points of the run, in the order of their times.
        public fileprivate(set) var points: [Location]
        /// The number of points at the beginning that the run before ended with.
        public fileprivate(set) var repeated = 0
        /// `true` when the next run repeats the end of this one.
        public fileprivate(set) var isContinued = false
        /// `true` when points are known to be missing before the run.
        fileprivate var isInterrupted: Bool
        fileprivate var length: Meters = 0

        fileprivate init(_ points: [Location], isInterrupted: Bool = false) {
            self.points = points
            self.isInterrupted = isInterrupted
        }

        /// The request for a routing engine. The roads are those for cars if at least a tenth
        /// of the points that report a motion report driving, and otherwise those for the motion of most points.
        public var request: MatchRequest {
            let points = self.points.map {
                MatchRequest.Point(
                    coordinate: $0.coordinate, time: $0.time, accuracy: $0.accuracyHorizontal.map { Meters($0) })
            }
            return MatchRequest(points: points, profile: self.profile)
        }

        private var profile: TravelProfile {
            var counts: [TravelProfile: Int] = [:]
            for point in self.points where !point.motion.isEmpty {
                counts[TravelProfile(motion: point.motion), default: 0] += 1
            }
            // A device that derives the motion from the speed reports a car in slow traffic as cycling.
            let driving = self.points.count { $0.motion.contains(.driving) }
            if driving > 0, driving * 10 >= counts.values.reduce(0, +) { return .auto }
            return TravelProfile.allCases.max { counts[$0, default: 0] < counts[$1, default: 0] } ?? .auto
        }
    }

    /// The run to which points are appended; `nil` before the first point.
    private var run: Run?
    /// The matches of the last points of the run before, which the run in progress repeats.
    private var held: [MatchedPoint] = []
    /// The position of the last point of the run before; `nil` for none.
    private var last: Coordinate?

    /// Makes the division of a track to which no point was appended yet.
    public init() {}

    /// Appends a point of the track.
    ///
    /// - Parameters:
    ///   - point: The point, not earlier than the one before.
    ///   - isInterrupted: `true` when points are known to be missing before this one.
    /// - Returns: The run that ended before this point; `nil` while the run in progress continues.
    public mutating func append(_ point: Location, isInterrupted: Bool = false) -> Run? {
        guard var run = self.run.take(), let last = run.points.last else {
            self.run = Run([point], isInterrupted: isInterrupted)
            return nil
        }
        let distance = last.coordinate.distance(to: point.coordinate)
        if isInterrupted || Self.isSeparate(point, from: last, distance) {
            self.run = Run([point], isInterrupted: isInterrupted)
            return run
        }
        guard run.points.count < Self.maximumPoints, run.length.value + distance.value <= Self.maximumLength.value
        else {
            run.isContinued = true
            self.run = Self.continuation(of: run, with: point)
            return run
        }
        run.points.append(point)
        run.length.value += distance.value
        self.run = run
        return nil
    }

    /// Ends the track, and returns the last run; `nil` without a point.
    public mutating func finish() -> Run? { self.run.take() }

    /// Joins a matched run with the one before.
    ///
    /// - Parameters:
    ///   - run: The run that ``append(_:isInterrupted:)`` or ``finish()`` returned last.
    ///   - match: The engine's match of the run; `nil` when the engine knows no road for it.
    /// - Returns: The matched points that follow those returned before. The points that the next run repeats are
    ///   returned with that run.
    public mutating func matched(_ run: Run, _ match: RoadMatch?) -> [MatchedPoint] {
        var points = Self.points(of: run, match)
        if run.repeated > 0 {
            let seam = Self.seam(self.held, points)
            points.replaceSubrange(...seam, with: self.held[...seam])
        } else {
            points[0].isInterrupted = run.isInterrupted
            points[0].distance = self.last.map { $0.distance(to: points[0].location.coordinate) } ?? 0
        }
        self.last = points.last?.location.coordinate
        self.held = run.isContinued ? Array(points.suffix(Self.overlap)) : []
        return Array(points.dropLast(self.held.count))
    }

    private static func isSeparate(_ point: Location, from last: Location, _ distance: Meters) -> Bool {
        let time = point.time.since(last.time)
        return time < .zero || time > Self.maximumGap || distance > Self.maximumJump
    }

    /// Returns the run that repeats the last points of a full run.
    private static func continuation(of run: Run, with point: Location) -> Run {
        let points = run.points.suffix(Self.overlap) + [point]
        var next = Run(Array(points))
        next.repeated = points.count - 1
        for (start, end) in zip(next.points, next.points.dropFirst()) {
            next.length.value += start.coordinate.distance(to: end.coordinate).value
        }
        return next
    }

    private static func points(of run: Run, _ match: RoadMatch?) -> [MatchedPoint] {
        if let match, match.points.count == run.points.count { return MatchedRun(run.points, match).points }
        let distances = zip(run.points, run.points.dropFirst()).map { $0.coordinate.distance(to: $1.coordinate) }
        return zip(run.points, [0] + distances).map { MatchedPoint($0, distance: $1) }
    }

    /// Returns the index of the repeated point at which two runs are joined: the one nearest to the middle of those on
    /// which both runs agree, otherwise the middle.
    private static func seam(_ before: [MatchedPoint], _ after: [MatchedPoint]) -> Int {
        let middle = (before.count - 1) / 2
        let agreeing = before.indices.filter { before[$0].agrees(with: after[$0]) }
        return agreeing.min { abs($0 - middle) < abs($1 - middle) } ?? middle
    }
}
