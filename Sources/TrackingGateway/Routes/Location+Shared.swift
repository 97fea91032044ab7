import TrackingCore

extension Location {
    /// The position as a share link shows it: without the battery level, the phone's additional values (such as network
    /// and id), and the trip, which may have begun before the link's validity.
    var shared: Location {
        var location = self
        location.extra = nil
        location.batteryLevel = nil
        location.tripID = nil
        return location
    }
}

extension Enhancement {
    /// The match of a position with a road as a share link shows it: without the speed limit, which would show if the
    /// trackable is too fast, and without the details of the match.
    var shared: Enhancement { Enhancement(confidence: self.confidence, road: self.road, roadClass: self.roadClass) }
}

extension JSONValue {
    /// Returns the part of a resolution in force that a share link shows: the resolution, the maximum silence, the
    /// destination and the time to arrival.
    ///
    /// It omits the reasons for the resolution: other subscribers, the battery, and the proximity to the destination.
    /// It also omits the distance, which would show approximately a position from before the link's validity. On a
    /// journey, it omits a destination that is not at the link's stop, because it may be another stop.
    ///
    /// - Parameters:
    ///   - progress: The journey of the trackable.
    ///   - stop: The id of the link's stop; `nil` for the last stop of the journey.
    func sharedResolution(_ progress: JourneyProgress, stop: String?) -> JSONValue {
        var shown: Set = ["resolution", "maximumSilence", "destination", "timeToArrival"]
        if let journey = progress.journey {
            let place = self["destination"]?.list?.compactMap(\.number) ?? []
            let destination = place.count == 2 ? Coordinate(latitude: place[1], longitude: place[0]) : nil
            let isAtStop = destination.flatMap { there in
                journey.stop(stop).map { $0.location.distance(to: there) <= $0.radius }
            }
            if isAtStop != true { shown.subtract(["destination", "timeToArrival"]) }
        }
        return .object((self.object ?? [:]).filter { shown.contains($0.key) })
    }
}
