/// The stops that a trackable is going to visit, in the order of the visits (topic `journey`).
///
/// An operator or the publisher publishes a journey. It does not change while the trackable travels: the progress along
/// it is in the ``Estimate``.
public struct Journey: Hashable, Sendable {
    /// A place that a trackable is going to visit.
    public struct Stop: Hashable, Sendable {
        /// The id of the stop, unique within its journey: 1 to 64 bytes of plain text, for example an order number.
        public var id: String
        /// The name of the stop for people, 1 to 128 bytes of plain text; `nil` without a name.
        public var name: String?
        /// The place of the stop.
        public var location: Coordinate
        /// The distance from the place within which the trackable counts as arrived, 1 to 100,000 metres.
        public var radius: Meters
        /// The time at which the trackable shall arrive at the latest; `nil` without a planned time.
        public var planned: UnixTime?

        /// The radius of a stop without a radius of its own: 150 metres.
        public static let defaultRadius: Meters = 150
        /// The maximum size of a stop's id, in bytes of UTF-8.
        public static let maximumIDBytes = 64
        /// The maximum size of a stop's name, in bytes of UTF-8.
        public static let maximumNameBytes = 128

        /// Checks the id of a stop that a person typed.
        ///
        /// - Throws: ``TrackingError/Code/invalidName`` for an id that no journey can have.
        public static func checkID(_ id: String) throws(TrackingError) {
            guard id.isTripID else {
                throw TrackingError(.invalidName, "the id of a stop must be \(WireLimits.tripIDRule)")
            }
        }

        /// Makes a stop at a place.
        public init(
            id: String, name: String? = nil, location: Coordinate, radius: Meters = Self.defaultRadius,
            planned: UnixTime? = nil
        ) {
            self.id = id
            self.name = name
            self.location = location
            self.radius = radius
            self.planned = planned
        }
    }

    /// The stops, in the order of the visits: 1 to ``maximumStops``, each with an id of its own.
    public var stops: [Stop]
    /// The means of travel, which decides the permitted roads and the speeds; `nil` for the enhancer's default.
    public var profile: TravelProfile?

    /// The maximum number of stops of a journey.
    public static let maximumStops = 200

    /// Makes a journey along stops.
    public init(stops: [Stop], profile: TravelProfile? = nil) {
        self.stops = stops
        self.profile = profile
    }
}
