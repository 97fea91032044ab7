/// A trip of a trackable: the trip in progress, or the last one. The topic is `trip`. Each change is published as a new
/// version of the trip, a record with a number in a stream.
public struct Trip: Hashable, Sendable {
    /// The state of a trip: in progress or ended.
    public enum State: String, Hashable, Sendable, CaseIterable {
        case active = "ACTIVE"
        case ended = "ENDED"
    }

    /// The cause of a trip's end: the user's request, or the automatic end after a stop or without fixes.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        case user
        case automatic
    }

    /// The id of the trip, 1 to 64 bytes, for example a random UUID in lower case. Each point of the trip has it as its
    /// trip id.
    public var id: String
    /// The mode of travel: one of the words in ``TripMode/known``, such as `car`, or another word.
    public var mode: String
    /// The state of the trip: in progress or ended.
    public var state: State
    /// The time at which the trip began.
    public var start: UnixTime
    /// The time at which the trip ended; `nil` while the trip is in progress.
    public var end: UnixTime?
    /// The trackable's position at the beginning of the trip; `nil` until it is known.
    public var startLocation: Location?
    /// The trackable's last position in the trip; `nil` until it is known. After the trip has ended, it is the end
    /// position.
    public var lastLocation: Location?
    /// The distance travelled in the trip so far, in metres, ≥ 0.
    public var distance: Double
    /// The duration of the trip so far, in seconds, ≥ 0.
    public var duration: Double
    /// The cause of the trip's end; `nil` while the trip is in progress.
    public var endedBy: Ending?
    /// The stream, the publisher's sequence of records, in which this version of the trip has a number.
    public var stream: StreamID
    /// The number of this version in its stream, from 1.
    public var seq: UInt64

    /// Makes the first version of a trip that has just begun, with distance and duration 0.
    public init(id: String, mode: String, start: UnixTime, stream: StreamID, seq: UInt64) {
        self.id = id
        self.mode = mode
        self.state = .active
        self.start = start
        self.distance = 0
        self.duration = 0
        self.stream = stream
        self.seq = seq
    }
}

extension MessageCodec {
    /// Encodes a version of a trip as a JSON message.
    public static func encode(_ trip: Trip) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        writer.raw("{")
        writer.member("tripId", trip.id)
        writer.member("mode", trip.mode)
        writer.member("state", trip.state.rawValue)
        writer.member("start", trip.start.seconds, .time)
        writer.member("end", trip.end?.seconds, .time)
        if let location = trip.startLocation {
            writer.name("startLocation")
            writer.feature(location)
        }
        if let location = trip.lastLocation {
            writer.name(trip.state == .active ? "currentLocation" : "endLocation")
            writer.feature(location)
        }
        writer.member("distance", trip.distance, .notNegative)
        writer.member("duration", trip.duration, .notNegative)
        writer.member("endedBy", trip.endedBy?.rawValue)
        writer.member("stream", trip.stream.rawValue)
        writer.member("seq", trip.seq)
        writer.raw("}")
        return writer.bytes
    }

    /// Decodes a trip of at most ``WireLimits/maximumDocumentBytes``.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeTrip(_ payload: some Collection<UInt8>) throws(TrackingError) -> Trip {
        try self.checkSize(payload.count, WireLimits.maximumDocumentBytes, "a trip")
        let trip = try self.decodeStoredTrip(payload)
        for (name, text) in [("tripId", trip.id), ("mode", trip.mode)] where !text.isPlainText {
            throw TrackingError(.invalidPayload, "\(name) must be \(WireLimits.tripIDRule); found another string")
        }
        return trip
    }

    /// Decodes a trip from a log or database, without two checks of ``decodeTrip(_:)``: the limit of
    /// ``WireLimits/maximumDocumentBytes``, and the rule that the id and the mode have no control characters and no
    /// characters that change the direction of text.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    package static func decodeStoredTrip(_ payload: some Collection<UInt8>) throws(TrackingError) -> Trip {
        let message = try JSONObject(payload: payload)
        func text(_ name: StaticString, _ most: Int) throws(TrackingError) -> String {
            try message.required(name) { json throws(Refusal) in
                try json.text("a string of 1 to \(most) bytes") { (1...most).contains($0.utf8.count) ? $0 : nil }
            }
        }
        func number(_ name: StaticString, _ rule: NumberRule) throws(TrackingError) -> Double? {
            try message.optional(name) { json throws(Refusal) in try json.number(rule) }
        }
        func location(_ name: StaticString) throws(TrackingError) -> Location? {
            try message.optional(name) { json throws(Refusal) in try json.feature(.location) }
        }
        var trip = Trip(
            id: try text("tripId", 64), mode: try text("mode", 64),
            start: UnixTime(
                try message.required("start") { json throws(Refusal) in try json.number(.time) }),
            stream: try message.required("stream") { json throws(Refusal) in try json.stream() },
            seq: UInt64(
                try message.required("seq") { json throws(Refusal) in try json.integer(1...WireLimits.greatest) }))
        trip.state = try message.required("state") { json throws(Refusal) in try json.choice() }
        trip.end = try number("end", .time).map { UnixTime($0) }
        trip.startLocation = try location("startLocation")
        trip.lastLocation = try location(trip.state == .active ? "currentLocation" : "endLocation")
        trip.distance = try number("distance", .notNegative) ?? 0
        trip.duration = try number("duration", .notNegative) ?? 0
        trip.endedBy = try message.optional("endedBy") { json throws(Refusal) in try json.choice() }
        return trip
    }
}
