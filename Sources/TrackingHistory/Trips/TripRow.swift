public import TrackingCore

/// A trip or a stop in a common form for output as a line of a table or as JSON.
public struct TripRow: Hashable, Sendable {
    /// The kind of the row: `recorded` for a recorded trip; `trip` or `stop` if it was detected in the points.
    public private(set) var kind: String
    /// The recorded trip; `nil` for a detected trip or stop.
    public private(set) var trip: Trip?
    /// The start time of the trip or stop.
    public private(set) var start: UnixTime
    /// The end time of the trip or stop; `nil` while a recorded trip is in progress.
    public private(set) var end: UnixTime?
    /// The duration of the trip or stop in seconds.
    public private(set) var duration: Double
    /// The distance of a trip in metres; `nil` for a stop.
    public private(set) var distance: Double?
    /// The distance of a trip along the roads in metres; `nil` for a stop or when it was not measured.
    public var roadDistance: Double?
    /// The average speed of a trip in metres a second; `nil` for a stop or when unknown.
    public private(set) var averageSpeed: Double?
    /// The greatest speed during a trip in metres a second; `nil` for a stop or when unknown.
    public private(set) var topSpeed: Double?
    /// The positions of the trip or stop: start and end of a trip, or the mean position of a stop. An element is `nil`
    /// when the position is unknown.
    public private(set) var places: [Coordinate?]

    /// Makes the row of a trip or stop from an entry of a ``TripListing``.
    public init(_ entry: TripListing.Entry) {
        switch entry {
        case .recorded(let trip, let topSpeed):
            self.kind = "recorded"
            self.trip = trip
            (self.start, self.end) = (trip.start, trip.end)
            (self.duration, self.distance) = (trip.duration, trip.distance)
            self.averageSpeed = trip.duration > 0 ? trip.distance / trip.duration : nil
            self.topSpeed = topSpeed
            self.places = [trip.startLocation?.coordinate, trip.lastLocation?.coordinate]
        case .found(.trip(let trip)):
            self.kind = "trip"
            (self.start, self.end) = (trip.start.time, trip.end.time)
            (self.duration, self.distance) = (trip.duration.inSeconds, trip.distance.value)
            (self.averageSpeed, self.topSpeed) = (trip.averageSpeed, trip.topSpeed)
            self.places = [trip.start.coordinate, trip.end.coordinate]
        case .found(.stop(let stop)):
            self.kind = "stop"
            (self.start, self.end) = (stop.start.time, stop.end.time)
            self.duration = stop.duration.inSeconds
            self.places = [stop.place]
        }
    }

    /// The trip or stop as a JSON object, with times in seconds since 1970 and positions as `[longitude, latitude]`.
    public var value: JSONValue {
        var members: [String: JSONValue] = [
            "kind": .text(self.kind == "stop" ? "stop" : "trip"), "recorded": .flag(self.trip != nil),
            "start": .number(self.start.seconds), "duration": .number(self.duration),
        ]
        members["end"] = self.end.map { .number($0.seconds) }
        members["distance"] = self.distance.map { .number($0) }
        members["roadDistance"] = self.roadDistance.map { .number($0) }
        members["averageSpeed"] = self.averageSpeed.map { .number($0) }
        members["topSpeed"] = self.topSpeed.map { .number($0) }
        members["tripId"] = self.trip.map { .text($0.id) }
        members["mode"] = self.trip.map { .text($0.mode) }
        for (name, place) in zip(self.places.count == 1 ? ["place"] : ["from", "to"], self.places) {
            members[name] = place.map { .list([.number($0.longitude), .number($0.latitude)]) }
        }
        return .object(members)
    }
}
