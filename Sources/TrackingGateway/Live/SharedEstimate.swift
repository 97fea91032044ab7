import TrackingCore

/// The part of a journey and its estimate that a share link shows: the arrival at one stop.
///
/// It contains the place and the name of this stop only, and the number of the stops before it. The way ahead ends at
/// this stop, and is absent while other stops come before it.
struct SharedEstimate: Hashable, Sendable {
    private let estimate: Estimate
    private let stop: Journey.Stop
    private let arrival: Estimate.Stop
    private let stopsBefore: Int
    /// `false` for an estimate from before the creation of the link. Its distance and way would show the position at
    /// that time.
    private let isInSpan: Bool

    /// Creates the part that a share link shows; `nil` if the journey or the estimate does not have the stop.
    ///
    /// - Parameters:
    ///   - progress: The journey and the estimate of the trackable.
    ///   - id: The id of the link's stop; `nil` for the last stop of the journey.
    ///   - span: The time span of the link.
    init?(_ progress: JourneyProgress, stop id: String?, during span: Range<UnixTime>) {
        guard let journey = progress.journey, let estimate = progress.estimate, let stop = journey.stop(id),
            let arrival = estimate.stops.first(where: { $0.id == stop.id })
        else { return nil }
        let arrived = Set(estimate.stops.filter { $0.status == .arrived }.map(\.id))
        self.estimate = estimate
        self.stop = stop
        self.arrival = arrival
        self.stopsBefore = journey.stops.prefix { $0.id != stop.id }.count { !arrived.contains($0.id) }
        self.isInSpan = span.contains(estimate.time)
    }

    /// The JSON object that the share link receives.
    var json: [UInt8] { JSONValue.object(self.members).json }

    /// The members of the JSON object that the share link receives.
    private var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "time": .number(self.estimate.time.seconds), "basis": .text(self.estimate.basis.rawValue),
            "stop": .object(self.stopMembers), "stopsBefore": .number(Double(self.stopsBefore)),
        ]
        let route = self.route
        if !route.isEmpty { members["route"] = .text(Polyline.encode(route)) }
        return members
    }

    private var stopMembers: [String: JSONValue] {
        let place = self.stop.location
        var members: [String: JSONValue] = [
            "location": .list([.number(place.longitude), .number(place.latitude)]),
            "status": .text(self.arrival.status.rawValue),
        ]
        let times = ["eta": self.arrival.eta, "earliest": self.arrival.earliest, "latest": self.arrival.latest]
        members.merge(times.compactMapValues { $0.map { JSONValue.number($0.seconds) } }) { $1 }
        members["name"] = self.stop.name.map { .text($0) }
        if self.isInSpan { members["distance"] = self.arrival.distance.map { .number($0.value) } }
        return members
    }

    /// The way from the trackable to the stop; empty while another stop comes before it.
    private var route: [Coordinate] {
        guard self.isInSpan, self.stopsBefore == 0, let distance = self.arrival.distance else { return [] }
        return self.estimate.route.way(to: self.stop.location, within: distance.value)
    }
}

extension [Coordinate] {
    /// Returns the part of this way that ends at its point nearest to a place.
    ///
    /// - Parameters:
    ///   - place: The place.
    ///   - limit: The length of the way, in metres, after which the nearest point is not searched. A way that passes
    ///     the place again later does not count.
    fileprivate func way(to place: Coordinate, within limit: Double) -> [Coordinate] {
        var nearest = (index: 0, fraction: 0.0, offset: Double.infinity)
        var length = 0.0
        for index in self.indices.dropLast() where length <= limit {
            let (start, end) = (self[index], self[index + 1])
            let step = start.distance(to: end).value
            let (found, _) = place.projected(onto: start, end)
            let fraction = step > 0 ? Swift.min(found, (limit - length) / step) : 0
            let offset = place.distance(to: start.interpolated(to: end, fraction: fraction)).value
            if offset < nearest.offset { nearest = (index, fraction, offset) }
            length += step
        }
        guard nearest.offset < .infinity else { return [] }
        let end = self[nearest.index].interpolated(to: self[nearest.index + 1], fraction: nearest.fraction)
        return self[...nearest.index] + [end]
    }
}
