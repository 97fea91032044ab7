import TrackingCore
import TrackingHistory
import TrackingPublisher

/// Reads Overland's trips: the trip under way beside each batch, and the record of a trip that ended.
///
/// The id of a trip is the text of its start, as in the `trip_id` of its points.
enum OverlandTrip {
    /// Returns the records of the trip under way: an event of its start, and its newest version.
    ///
    /// - Parameter text: The source text of the trip.
    static func underWay(_ value: JSONValue, _ text: ArraySlice<UInt8>) throws(BadPiece) -> [RecordDraft] {
        // The fork for Android sends the object as text, with latitude before longitude.
        let isText = value.text != nil
        let object = isText ? value.text.flatMap { try? JSONValue(json: $0.utf8) }?.object : value.object
        guard let object else { throw BadPiece("the trip is not a JSON object") }
        let source = try? JSONSource(object: value.text.map { Array($0.utf8)[...] } ?? text)
        var trip = try Self.trip(object, source, isSwapped: isText)
        let began = TripStateMachine.Change.started(trip).happening.map {
            // The first batches have no place, because the app waits for a good fix. The mode may change during the
            // trip.
            RecordDraft($0, at: trip.start, location: trip.startLocation, identity: .kindAndTime(of: trip.id))
        }
        trip.lastLocation = OverlandFeature.place(
            object["current_location"], source?["current_location"], isSwapped: isText)
        trip.duration = max(0, (trip.lastLocation?.time ?? trip.start).since(trip.start) / .seconds(1))
        return [began, RecordDraft(trip: try Self.checked(trip))].compactMap { $0 }
    }

    /// Returns the records of a trip that ended: an event of its end, and its last version.
    ///
    /// - Parameter source: The source text of the properties.
    static func ended(
        _ properties: [String: JSONValue], _ source: JSONSource?
    ) throws(BadPiece) -> [RecordDraft] {
        var trip = try Self.trip(properties, source, isSwapped: false)
        guard let end = (properties["end"] ?? properties["timestamp"]).flatMap(PointDraft.time) else {
            throw BadPiece("the trip has no end that can be read")
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

    /// The members that have fields of their own in a version of a trip.
    private static let said: Set = [
        "type", "mode", "start", "end", "start_location", "end_location", "start-coordinates", "end-coordinates",
        "duration", "distance", "stopped_automatically",
    ]

    private static func trip(
        _ object: [String: JSONValue], _ source: JSONSource?, isSwapped: Bool
    ) throws(BadPiece) -> Trip {
        guard let said = object["start"], let start = PointDraft.time(said), start.seconds.magnitude <= 1e11 else {
            throw BadPiece("the trip has no start that can be read")
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

    /// Returns the place that older versions wrote as a pair of longitude and latitude.
    private static func place(_ pair: JSONValue?, at time: UnixTime) -> Location? {
        guard let pair = pair?.list, pair.count >= 2, let longitude = pair[0].lenientNumber,
            let latitude = pair[1].lenientNumber,
            let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        else { return nil }
        return Location(coordinate: coordinate, time: time)
    }

    /// Returns the trip if readers of the protocol accept it.
    private static func checked(_ trip: Trip) throws(BadPiece) -> Trip {
        do {
            return try MessageCodec.decodeTrip(MessageCodec.encode(trip))
        } catch {
            throw BadPiece(error.message)
        }
    }
}
