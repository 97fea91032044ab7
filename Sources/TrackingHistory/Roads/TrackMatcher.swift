public import TrackingCore

/// Matches the points of a recorded track with roads, by a routing engine. It holds one run of the track in memory.
///
///     var matcher = TrackMatcher(engine)
///     for point in points { write(try await matcher.append(point)) }
///     write(try await matcher.finish())
public struct TrackMatcher: Sendable {
    private let engine: any RoadEngine
    private var matching = TrackMatching()

    /// Makes a matcher to which no point was appended yet.
    public init(_ engine: any RoadEngine) { self.engine = engine }

    /// Appends a point of the track, not earlier than the one before.
    ///
    /// - Parameter isInterrupted: `true` when points are known to be missing before this one.
    /// - Returns: The next matched points, in order; usually none, because a whole run is matched together.
    /// - Throws: `engineUnavailable` when the engine does not answer or its answer is unusable.
    public mutating func append(
        _ point: Location, isInterrupted: Bool = false
    ) async throws(TrackingError) -> [MatchedPoint] {
        try await self.match(self.matching.append(point, isInterrupted: isInterrupted))
    }

    /// Ends the track, and returns the last matched points, in order.
    ///
    /// - Throws: `engineUnavailable` when the engine does not answer or its answer is unusable.
    public mutating func finish() async throws(TrackingError) -> [MatchedPoint] {
        try await self.match(self.matching.finish())
    }

    private mutating func match(_ run: TrackMatching.Run?) async throws(TrackingError) -> [MatchedPoint] {
        guard let run else { return [] }
        var match: RoadMatch?
        do throws(TrackingError) {
            match = try await self.engine.match(run.request)
        } catch  where error.code == .noRoad {
            match = nil  // the points remain as they were recorded
        } catch {
            throw error
        }
        return self.matching.matched(run, match)
    }
}

/// The length of the way along the roads through the points of a recorded track.
public struct RoadDistance: Sendable {
    private var matcher: TrackMatcher
    private var distance: Meters = 0

    /// Makes a measurement to which no point was appended yet.
    public init(_ engine: any RoadEngine) { self.matcher = TrackMatcher(engine) }

    /// Appends a point of the track, not earlier than the one before.
    ///
    /// - Throws: `engineUnavailable` when the engine does not answer or its answer is unusable.
    public mutating func append(_ point: Location) async throws(TrackingError) {
        self.add(try await self.matcher.append(point))
    }

    /// Ends the track, and returns the length of the way. Where the way is unknown, the length is that of the straight
    /// line.
    ///
    /// - Throws: `engineUnavailable` when the engine does not answer or its answer is unusable.
    public mutating func finish() async throws(TrackingError) -> Meters {
        self.add(try await self.matcher.finish())
        return self.distance
    }

    private mutating func add(_ points: [MatchedPoint]) {
        for point in points { self.distance.value += point.distance.value }
    }
}
