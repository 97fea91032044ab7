import TrackingCore
import TrackingTesting

/// The van's positions on the road and its estimated arrivals, as `godwit demo --roads` has received them.
struct DemoRoadsObservations: Sendable {
    /// The distance from a road up to which a position counts as on it.
    static let tolerance: Meters = 1
    /// The number of positions after which the demo counts them as on the road.
    private static let fewest = 5

    private let journey: Journey
    /// The generated town; `nil` with a routing engine of the user, whose roads are not known here.
    private let town: SyntheticRoads?
    /// The name of the road on which the van is; `nil` off the roads and for a road without a name.
    private(set) var road: String?
    /// The number of positions that were matched with a road.
    private(set) var matched = 0
    /// The greatest distance from a matched position to the nearest road of the town.
    private(set) var greatestOffset: Meters = 0
    private(set) var estimate: Estimate?
    /// The first estimate along a route of the arrival at the first stop.
    private(set) var promise: Estimate.Stop?

    init(_ journey: Journey, in town: SyntheticRoads?) {
        self.journey = journey
        self.town = town
    }

    /// Handles an update of the van's position.
    mutating func located(_ update: LocationUpdate) {
        self.road = update.enhancement?.road
        guard update.enhancement?.confidence == .matched else { return }
        self.matched += 1
        guard let town = self.town else { return }
        self.greatestOffset = max(self.greatestOffset, town.distanceToRoad(from: update.location.coordinate))
    }

    /// Handles an estimate. Returns the stops at which the van has arrived since the estimate before.
    mutating func estimated(_ estimate: Estimate) -> [Journey.Stop] {
        let before = self.estimate
        self.estimate = estimate
        if self.promise == nil, estimate.basis == .route, let first = estimate.stops.first, first.earliest != nil {
            self.promise = first
        }
        return self.journey.stops.filter {
            Self.arrival(at: $0, estimate) != nil && Self.arrival(at: $0, before) == nil
        }
    }

    /// `true` once enough positions were matched with a road, and none of them is beside the roads of the town.
    var isOnRoad: Bool { self.matched >= Self.fewest && self.greatestOffset <= Self.tolerance }

    /// `true` once the van has arrived at the first stop.
    var hasArrived: Bool { self.journey.stops.first.flatMap { self.arrival(at: $0) } != nil }

    /// `true` once the van has arrived at every stop.
    var isComplete: Bool { self.journey.stops.allSatisfy { self.arrival(at: $0) != nil } }

    /// `true` if the van arrived at the first stop between the earliest and the latest time of the first estimate.
    var isPromiseKept: Bool {
        guard let earliest = self.promise?.earliest, let latest = self.promise?.latest,
            let arrival = self.journey.stops.first.flatMap({ self.arrival(at: $0) })
        else { return false }
        return earliest <= arrival && arrival <= latest
    }

    /// Returns the time at which the van arrived at a stop; `nil` before.
    func arrival(at stop: Journey.Stop) -> UnixTime? { Self.arrival(at: stop, self.estimate) }

    private static func arrival(at stop: Journey.Stop, _ estimate: Estimate?) -> UnixTime? {
        estimate?.stops.first { $0.id == stop.id && $0.status == .arrived }?.eta
    }

    // MARK: Text

    /// Returns the road and the next arrival for people: `on Avenue 3 · arrives at Depot 14:32 (14:31 to 14:34)`.
    func line(now: UnixTime) -> String {
        let road = self.matched == 0 ? "no position on the road yet" : "on \(self.road ?? "a road without a name")"
        guard let stop = self.journey.stops.first(where: { self.arrival(at: $0) == nil }) else {
            return "\(road) · all stops visited"
        }
        let name = stop.name ?? stop.id
        guard let next = self.estimate?.stops.first(where: { $0.id == stop.id }), next.eta != nil else {
            return "\(road) · no arrival at \(name) estimated yet"
        }
        let clock = { JourneyTable.clock($0, now: now) }
        let band = next.earliest == nil ? "" : " (\(clock(next.earliest)) to \(clock(next.latest)))"
        return "\(road) · arrives at \(name) \(clock(next.eta))\(band)"
    }
}
