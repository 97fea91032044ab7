import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Decodes the trips of Overland: the present trip, which each request contains while a trip is in progress, and the
/// record of an ended trip.
///
/// The id of a trip is the text of its start time, which is also the `trip_id` of its points.
enum OverlandTrip {
    /// Returns the records of the present trip: the event that it began, and the newest version of the trip. Each
    /// request repeats the event; the gateway recognises and ignores the repetition.
    ///
    /// - Parameters:
    ///   - value: The trip.
    ///   - text: The source text of the trip.
    /// - Throws: `BadPiece` if the trip is invalid.
    static func underWay(_ value: JSONValue, _ text: ArraySlice<UInt8>) throws(BadPiece) -> [RecordDraft] {
        // The fork for Android sends the object as text, with latitude before longitude.
        let isText = value.text != nil
        let object = isText ? value.text.flatMap { try? JSONValue(json: $0.utf8) }?.object : value.object
        guard let object else { throw BadPiece("the trip is not a JSON object") }
        let source = try? JSONSource(object: value.text.map { Array($0.utf8)[...] } ?? text)
        var trip = try Self.trip(object, source, isSwapped: isText)
        let began = TripStateMachine.Change.started(trip).happening.map {
            // The event is identified by kind and time only: the first requests have no start location, because the app
            // waits for a good fix, and the mode may change during the trip.
            RecordDraft($0, at: trip.start, location: trip.startLocation, identity: .kindAndTime(of: trip.id))
        }
        trip.lastLocation = OverlandFeature.place(
            object["current_location"], source?["current_location"], isSwapped: isText)
        trip.duration = max(0, (trip.lastLocation?.time ?? trip.start).since(trip.start) / .seconds(1))
        return [began, RecordDraft(trip: try Self.checked(trip))].compactMap { $0 }
    }

    /// Returns the records of an ended trip: an event of its end, and the last version of the trip.
    ///
    /// - Parameters:
    ///   - properties: The properties of the trip's Feature.
    ///   - source: The source text of the properties.
    /// - Throws: `BadPiece` if the trip is invalid.
    static func ended(
        _ properties: [String: JSONValue], _ source: JSONSource?
    ) throws(BadPiece) -> [RecordDraft] {
        var trip = try Self.trip(properties, source, isSwapped: false)
        guard let end = (properties["end"] ?? properties["timestamp"]).flatMap(PointDraft.time) else {
            throw BadPiece("the trip has no valid end time")
        }
        trip.state = .ended
        trip.end = end
        trip.lastLocation =
            OverlandFeature.place(properties["end_location"], source?["end_location"])
            ?? Self.place(properties["end-coordinates"], at: end)
        trip.startLocation = trip.startLocation ?? Self.place(properties["start-coordinates"], at: trip.start)
        trip.duration = Self.amount(properties["duration"]) ?? max(0, end.since(trip.start) / .seconds(1))
        trip.endedBy = properties["stopped_automatically"]?.flag == true ? .automatic : .user
        trip = try Self.checked(trip)
        let rest = OverlandFeature.detail(properties).filter { !Self.said.contains($0.key) }
        let ended = TripStateMachine.Change.ended(trip).happening.map {
            let detail = $0.detail.merging(rest) { ours, _ in ours }
            return RecordDraft(Happening($0.kind, detail), at: end, location: trip.lastLocation)
        }
        return [ended, RecordDraft(trip: trip)].compactMap { $0 }
    }

    /// The properties of an ended trip's Feature that the trip record has as fields of its own. The event of the trip's
    /// end omits them from its detail.
    private static let said: Set = [
        "type", "mode", "start", "end", "start_location", "end_location", "start-coordinates", "end-coordinates",
        "duration", "distance", "stopped_automatically",
    ]

    private static func trip(
        _ object: [String: JSONValue], _ source: JSONSource?, isSwapped: Bool
    ) throws(BadPiece) -> Trip {
        guard let said = object["start"], let start = PointDraft.time(said), start.seconds.magnitude <= 1e11 else {
            throw BadPiece("the trip has no valid start time")
        }
        let id = said.text.flatMap { (1...64).contains($0.utf8.count) ? $0 : nil } ?? ISO8601.text(start)
        let mode = (object["mode"]?.text).flatMap { try? TripMode($0) }?.rawValue ?? "unknown"
        var trip = Trip(id: id, mode: mode, start: start, stream: RecordDraft.unnamed, seq: 1)
        trip.startLocation = OverlandFeature.place(
            object["start_location"], source?["start_location"], isSwapped: isSwapped)
        trip.distance = Self.amount(object["distance"]) ?? 0
        return trip
    }

    private static func amount(_ value: JSONValue?) -> Double? {
        value?.lenientNumber.flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Returns the position from a pair of longitude and latitude, as older versions of Overland wrote it; `nil` for an
    /// invalid pair.
    private static func place(_ pair: JSONValue?, at time: UnixTime) -> Location? {
        guard let pair = pair?.list, pair.count >= 2, let longitude = pair[0].lenientNumber,
            let latitude = pair[1].lenientNumber,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        return Location(coordinate: coordinate, time: time)
    }

    /// Checks that a trip is valid in the tracking protocol, and returns it.
    ///
    /// - Throws: `BadPiece` with the rule that the trip breaks.
    private static func checked(_ trip: Trip) throws(BadPiece) -> Trip {
        do {
            return try MessageCodec.decodeTrip(MessageCodec.encode(trip))
        } catch {
            throw BadPiece(error.message)
        }
    }
}
