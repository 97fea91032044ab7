/// A trip under way, or the last one (`trip`). Each version of it is a record: it has a number in its stream.
public struct Trip: Hashable, Sendable {
    /// Where a trip stands.
    public enum State: String, Hashable, Sendable, CaseIterable {
        case active = "ACTIVE"
        case ended = "ENDED"
    }

    /// Who ended it.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        case user
        case automatic
    }

    /// A random UUID, in lower case; the points of the trip carry it.
    public var id: String
    /// How one travels: walk, run, bicycle, car, taxi, bus, tram, train, metro, plane, boat, scooter, or a word of one's own.
    public var mode: String
    /// Under way or over.
    public var state: State
    /// When it began.
    public var start: UnixTime
    /// When it ended; `nil` while it goes on.
    public var end: UnixTime?
    /// Where it began, once that is known.
    public var startLocation: Location?
    /// Where it is, or where it ended, once that is known.
    public var lastLocation: Location?
    /// The way travelled, in metres, ≥ 0.
    public var distance: Double
    /// How long it has lasted, in seconds, ≥ 0.
    public var duration: Double
    /// Who ended it; `nil` while it goes on.
    public var endedBy: Ending?
    /// The stream that `seq` counts in.
    public var stream: StreamID
    /// The record's number in its stream, from 1.
    public var seq: UInt64

    /// Makes a trip that has just begun.
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
    /// Writes a trip.
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

    /// Reads a trip of at most ``WireLimits/maximumDocumentBytes``.
    ///
    /// - Throws: `invalidPayload` that names the member, or `payloadTooLarge`.
    public static func decodeTrip(_ payload: some Collection<UInt8>) throws(TrackingError) -> Trip {
        try self.checkSize(payload.count, WireLimits.maximumDocumentBytes, "a trip")
        let trip = try self.decodeStoredTrip(payload)
        for (name, text) in [("tripId", trip.id), ("mode", trip.mode)] where !text.isPlainText {
            throw TrackingError(.invalidPayload, "\(name) must be \(WireLimits.tripIDRule); found another string")
        }
        return trip
    }

    /// Reads a trip that an earlier version accepted, with texts and of a size that ``decodeTrip(_:)`` refuses.
    ///
    /// - Throws: `invalidPayload` that names the member, or `payloadTooLarge`.
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
