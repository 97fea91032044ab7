/// The journey with one stop that a publisher publishes for the destination of a trackable.
extension Journey {
    /// Makes the journey to a trackable's destination.
    package init(to destination: Coordinate) {
        self.init(stops: [Stop(id: Stop.id(ofDestination: destination), location: destination)])
    }

    /// `true` for a journey that a publisher made of a destination: its only stop has the id of a destination.
    ///
    /// Every other journey is an operator's.
    package var isOfPublisher: Bool { self.stops.count == 1 && self.stops[0].id.hasPrefix(Stop.destinationPrefix) }
}

extension Journey.Stop {
    /// The beginning of the ids of all stops that publishers make of destinations.
    fileprivate static let destinationPrefix = "destination:"

    /// Returns the id of the stop of a destination, such as `destination:9.52,47.14`.
    ///
    /// The id contains the longitude and the latitude, so that another destination is another stop: an arrival at the
    /// former one does not count for it.
    package static func id(ofDestination destination: Coordinate) -> String {
        let place = [destination.longitude, destination.latitude].map { ($0 * 1e6).rounded() / 1e6 }
        return Self.destinationPrefix + place.map { "\($0)" }.joined(separator: ",")
    }
}
