/// The estimated arrival times of a trackable at the stops of its journey, as an enhancer publishes them (topic
/// `estimate`).
public struct Estimate: Hashable, Sendable {
    /// The way along which distances and times were calculated.
    public enum Basis: String, Hashable, Sendable, CaseIterable {
        /// A route along roads, from the routing engine.
        case route
        /// The straight lines between the position and the stops, because the routing engine has no answer. The times
        /// follow from the trackable's recent speed.
        case straightLine = "straight-line"
    }

    /// The progress of a trackable towards one stop.
    public enum Status: String, Hashable, Sendable, CaseIterable {
        /// The trackable is on its way, and later stops may come first.
        case enRoute = "EN_ROUTE"
        /// The stop is the next one, and the trackable arrives within about five minutes.
        case approaching = "APPROACHING"
        /// The trackable has arrived at the stop. It may have left the stop since.
        case arrived = "ARRIVED"
        /// The earliest estimated arrival is after the planned time.
        case delayed = "DELAYED"
        /// The stop is the next one, and the trackable has left the route to it.
        case offRoute = "OFF_ROUTE"
        /// The arrival cannot be estimated, for example without a recent position.
        case unknown = "UNKNOWN"
    }

    /// The estimated arrival at one stop.
    public struct Stop: Hashable, Sendable {
        /// The id of the stop, as in the journey.
        public var id: String
        /// The estimated time of arrival within the radius of the stop, or the time at which the trackable arrived; `nil`
        /// when unknown.
        public var eta: UnixTime?
        /// The earliest probable time of arrival; `nil` when unknown and after the arrival.
        public var earliest: UnixTime?
        /// The latest probable time of arrival; `nil` when unknown and after the arrival.
        public var latest: UnixTime?
        /// The remaining distance to the stop along the way, past the stops before it; `nil` when unknown and after the
        /// arrival.
        public var distance: Meters?
        /// The progress of the trackable towards the stop.
        public var status: Status

        /// Makes the estimated arrival at one stop.
        public init(
            id: String, eta: UnixTime? = nil, earliest: UnixTime? = nil, latest: UnixTime? = nil,
            distance: Meters? = nil, status: Status
        ) {
            self.id = id
            self.eta = eta
            self.earliest = earliest
            self.latest = latest
            self.distance = distance
            self.status = status
        }
    }

    /// The time at which the estimate was calculated.
    public var time: UnixTime
    /// The way along which distances and times were calculated.
    public var basis: Basis
    /// The estimated arrivals, one for each stop of the journey, in its order.
    public var stops: [Stop]
    /// The remaining way along the roads from the position to the last stop, at most ``maximumRoutePoints``. Empty
    /// without a route.
    public var route: [Coordinate]

    /// The maximum number of points of the remaining way.
    public static let maximumRoutePoints = 2000
    /// The maximum size of an estimate in a message: 64 KiB.
    public static let maximumBytes = 65_536

    /// Makes an estimate for the stops of a journey.
    public init(time: UnixTime, basis: Basis, stops: [Stop], route: [Coordinate] = []) {
        self.time = time
        self.basis = basis
        self.stops = stops
        self.route = route
    }
}
