import TrackingCore
import TrackingTesting

/// The start of the van in `godwit demo --roads` and the stops of its journey, within about 1 km of a centre.
struct DemoRoadsPlan: Sendable {
    private static let places: [(name: String, east: Double, north: Double)] = [
        ("Depot", -200, -600), ("Market", 400, 200), ("Harbour", -600, 700),
    ]
    /// The distance from a stop within which the van counts as arrived.
    private static let radius: Meters = 30

    /// The middle of the generated town.
    static var townCentre: Coordinate {
        let half = Meters(SyntheticRoads.block.value * Double(SyntheticRoads.streets - 1) / 2)
        return SyntheticRoads.corner.destination(bearing: 0, distance: half).destination(bearing: 90, distance: half)
    }

    /// The request for the route of the drive past all stops.
    let request: RouteRequest

    /// Makes the plan of a drive around a centre.
    init(around centre: Coordinate) {
        func place(east: Double, north: Double) -> Coordinate {
            centre.destination(bearing: 0, distance: Meters(north)).destination(bearing: 90, distance: Meters(east))
        }
        self.request = RouteRequest(
            start: place(east: -700, north: -800), stops: Self.places.map { place(east: $0.east, north: $0.north) },
            profile: .auto)
    }

    /// Returns the journey along a route of the routing engine. Each stop is on a road, at the end of its leg.
    static func journey(along route: Route) -> Journey {
        let stops = zip(route.legs, self.places).enumerated().compactMap { index, part in
            part.0.shape.last.map {
                Journey.Stop(id: "\(index + 1)", name: part.1.name, location: $0, radius: self.radius)
            }
        }
        return Journey(stops: stops, profile: .auto)
    }
}
