/// A route along roads from a position to one or more stops, as a routing engine answers it.
public struct Route: Hashable, Sendable {
    /// The part of a route that ends at one stop.
    public struct Leg: Hashable, Sendable {
        /// The travel time of the leg, > 0.
        public var duration: Duration
        /// The length of the leg along the road.
        public var length: Meters
        /// The way of the leg along the road, from its start to its stop; at least two points.
        public var shape: [Coordinate]

        /// Makes a leg from its travel time, its length and its way along the road.
        public init(duration: Duration, length: Meters, shape: [Coordinate]) {
            self.duration = duration
            self.length = length
            self.shape = shape
        }
    }

    /// The legs of the route, in the order of the stops.
    public var legs: [Leg]

    /// Makes a route from its legs, in the order of the stops.
    public init(legs: [Leg]) { self.legs = legs }
}
