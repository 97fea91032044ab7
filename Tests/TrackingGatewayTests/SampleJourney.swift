import Testing
import TrackingCore

@testable import TrackingGateway

/// A journey with three stops along a straight road, and its estimate, for tests.
enum SampleJourney {
    /// The stops, from south to north. Their texts and coordinates occur nowhere else.
    static let journey = Journey(
        stops: [
            stop("order-11", "Baker Anton", 47.111111), stop("order-22", "Cafe Berta", 47.222222),
            stop("order-33", "Dentist Caesar", 47.333333),
        ], profile: .auto)

    /// The texts that show the stop with this index: its id, its name and its latitude.
    static func secrets(_ index: Int) -> [String] {
        let stop = self.journey.stops[index]
        return [stop.id, stop.name ?? "", "\(stop.location.latitude)"]
    }

    private static func stop(_ id: String, _ name: String, _ latitude: Double) -> Journey.Stop {
        Journey.Stop(id: id, name: name, location: self.place(latitude))
    }

    static func place(_ latitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: 9.5)!  // within the range
    }

    /// The estimate of a trackable that has arrived at the first stops of the journey.
    static func estimate(arrived: Int = 0, at time: Double = 1_790_000_000) -> Estimate {
        let here = 47.05 + 0.1 * Double(arrived)
        let stops = self.journey.stops.enumerated().map { index, stop in
            guard index >= arrived else {
                return Estimate.Stop(id: stop.id, eta: UnixTime(time - 60), status: .arrived)
            }
            let distance = self.place(here).distance(to: stop.location)
            let eta = time + distance.value / 10
            return Estimate.Stop(
                id: stop.id, eta: UnixTime(eta), earliest: UnixTime(eta - 30), latest: UnixTime(eta + 30),
                distance: distance, status: .enRoute)
        }
        // The stops are not among the points of the way.
        let way = stride(from: here, through: 47.34, by: 0.01).map { self.place($0) }
        return Estimate(
            time: UnixTime(time), basis: .route, stops: stops, route: way.filter { $0.latitude < 47.333333 })
    }
}
