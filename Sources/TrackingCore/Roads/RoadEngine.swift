/// A routing engine: a service that knows a map's roads, matches fixes with them, and finds routes along them.
public protocol RoadEngine: Sendable {
    /// Matches consecutive fixes of one trackable with roads.
    ///
    /// - Returns: One matched point for each fix, in the same order, and the roads of the most probable way.
    /// - Throws: ``TrackingError/Code/engineUnavailable`` when the engine did not answer or its answer is unusable;
    ///   ``TrackingError/Code/noRoad`` when it knows no road for these fixes.
    func match(_ request: MatchRequest) async throws(TrackingError) -> RoadMatch

    /// Finds the fastest route from a position along all stops.
    ///
    /// - Returns: A route with one leg for each stop.
    /// - Throws: ``TrackingError/Code/engineUnavailable`` when the engine did not answer or its answer is unusable;
    ///   ``TrackingError/Code/noRoad`` when it knows no route.
    func route(_ request: RouteRequest) async throws(TrackingError) -> Route
}

/// Consecutive fixes of one trackable that a routing engine matches with roads.
public struct MatchRequest: Hashable, Sendable {
    /// One fix of the request.
    public struct Point: Hashable, Sendable {
        /// The position of the fix.
        public var coordinate: Coordinate
        /// The time at which the receiver measured the position.
        public var time: UnixTime
        /// The radius of the circle that contains the true position with 68 % confidence; `nil` when unknown.
        public var accuracy: Meters?

        /// Makes one fix of a request.
        public init(coordinate: Coordinate, time: UnixTime, accuracy: Meters? = nil) {
            self.coordinate = coordinate
            self.time = time
            self.accuracy = accuracy
        }
    }

    /// The fixes, in the order of their times; at least one.
    public var points: [Point]
    /// The means of travel, which decides the permitted roads.
    public var profile: TravelProfile

    /// Makes a request from fixes in the order of their times.
    public init(points: [Point], profile: TravelProfile) {
        self.points = points
        self.profile = profile
    }
}

/// A routing engine's match of consecutive fixes with roads.
public struct RoadMatch: Hashable, Sendable {
    /// The match of one fix.
    public struct Point: Hashable, Sendable {
        /// The position on the road; off the road, the position of the fix.
        public var coordinate: Coordinate
        /// The certainty of the match: on a road, presumed on a road, or on no road.
        public var confidence: Enhancement.Confidence
        /// The index of the fix's road in ``RoadMatch/edges``; `nil` off the road.
        public var edge: Int?
        /// The index of the segment of ``RoadMatch/shape`` on which the position is: the index of its first point.
        /// `nil` off the road.
        public var segment: Int?
        /// The distance from the fix to the position on the road; `nil` off the road.
        public var offset: Meters?

        /// Makes the match of one fix.
        public init(
            coordinate: Coordinate, confidence: Enhancement.Confidence, edge: Int? = nil, segment: Int? = nil,
            offset: Meters? = nil
        ) {
            self.coordinate = coordinate
            self.confidence = confidence
            self.edge = edge
            self.segment = segment
            self.offset = offset
        }
    }

    /// One edge of the engine's road network: a piece of a road between two junctions, in one direction.
    public struct Edge: Hashable, Sendable {
        /// The engine's id of the edge.
        public var id: UInt64
        /// The number of the OpenStreetMap way that the edge belongs to; `nil` when unknown.
        public var way: UInt64?
        /// The name of the road; `nil` without a name.
        public var road: String?
        /// The class of the road in the engine's words, such as `residential`.
        public var roadClass: String?
        /// The speed limit in metres per second; `nil` when unknown or unlimited.
        public var speedLimit: Double?

        /// Makes an edge.
        public init(
            id: UInt64, way: UInt64? = nil, road: String? = nil, roadClass: String? = nil, speedLimit: Double? = nil
        ) {
            self.id = id
            self.way = way
            self.road = road
            self.roadClass = roadClass
            self.speedLimit = speedLimit
        }
    }

    /// The matches of the fixes, one for each fix of the request.
    public var points: [Point]
    /// The edges of the most probable way, in the order of travel.
    public var edges: [Edge]
    /// The most probable way along the roads.
    public var shape: [Coordinate]

    /// Makes a match from its points, its edges and its way.
    public init(points: [Point], edges: [Edge], shape: [Coordinate]) {
        self.points = points
        self.edges = edges
        self.shape = shape
    }
}

/// A question to a routing engine for the fastest route along stops.
public struct RouteRequest: Hashable, Sendable {
    /// The position at which the route starts.
    public var start: Coordinate
    /// The direction of travel at the start in degrees from true north, 0 ≤ b < 360; `nil` when unknown.
    public var bearing: Double?
    /// The stops, in the order of the visits; at least one.
    public var stops: [Coordinate]
    /// The means of travel, which decides the permitted roads and the speeds.
    public var profile: TravelProfile

    /// Makes a question for a route from a position along stops.
    public init(start: Coordinate, bearing: Double? = nil, stops: [Coordinate], profile: TravelProfile) {
        self.start = start
        self.bearing = bearing
        self.stops = stops
        self.profile = profile
    }
}
