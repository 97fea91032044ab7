extension MessageCodec {
    /// Encodes a journey, the stops that a trackable is going to visit.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a journey that readers would reject, such as one with two
    ///   stops of the same id; ``TrackingError/Code/payloadTooLarge`` above ``WireLimits/maximumDocumentBytes``.
    public static func encode(_ journey: Journey) throws(TrackingError) -> [UInt8] {
        let bytes = self.json(of: journey)
        // A journey is written rarely. Reading it once shows every broken rule, with the message that a reader has.
        guard try self.decodeJourney(bytes) == journey else {
            throw TrackingError(
                .invalidPayload,
                "cannot encode the journey: a radius must be \(NumberRule.radius.words), and a time must be \(NumberRule.time.words)"
            )
        }
        return bytes
    }

    /// Returns a received journey as JSON, with the members of the protocol. It can be longer than the message that the
    /// journey was decoded from, and than the limit of a message, because the radius is never left out.
    package static func json(of journey: Journey) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        writer.raw(#"{"stops":["#)
        for stop in journey.stops {
            writer.separate()
            writer.stop(stop)
        }
        writer.raw("]")
        writer.member("profile", journey.profile?.rawValue)
        writer.raw("}")
        return writer.bytes
    }

    /// Decodes a journey of at most ``WireLimits/maximumDocumentBytes`` and ``Journey/maximumStops`` stops.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeJourney(_ payload: some Collection<UInt8>) throws(TrackingError) -> Journey {
        try self.checkSize(payload.count, WireLimits.maximumDocumentBytes, "a journey")
        let message = try JSONObject(payload: payload)
        return Journey(
            stops: try message.required("stops") { json throws(Refusal) in
                try json.stops(\.id) { json throws(Refusal) in try json.journeyStop() }
            },
            profile: try message.optional("profile") { json throws(Refusal) in try json.choice() })
    }
}

extension JSONWriter {
    fileprivate mutating func stop(_ stop: Journey.Stop) {
        self.raw("{")
        self.member("id", stop.id)
        self.member("name", stop.name)
        self.name("location")
        self.place(stop.location)
        self.member("radius", stop.radius.value, .radius)
        self.member("planned", stop.planned?.seconds, .time)
        self.raw("}")
    }
}

extension JSONScanner {
    /// Reads the member `stops` of a journey or an estimate: a list of 1 to ``Journey/maximumStops`` objects, each with
    /// an id of its own.
    ///
    /// - Parameters:
    ///   - id: Returns the id of a stop.
    ///   - read: Reads one stop.
    mutating func stops<Stop>(
        _ id: (Stop) -> String, _ read: (inout JSONScanner) throws(Refusal) -> Stop
    ) throws(Refusal) -> [Stop] {
        var stops: [Stop] = []
        var ids: Set<String> = []
        try self.beginArray()
        while try self.nextElement() {
            guard stops.count < Journey.maximumStops else {
                throw self.refuse("stops must have at most \(Journey.maximumStops) elements; found more")
            }
            (self.root, self.prefix, self.key) = (.stop(stops.count), "", .empty)
            let stop = try read(&self)
            guard ids.insert(id(stop)).inserted else {
                throw self.refuse("\(self.root.path("id")) must differ from the ids of the stops before it")
            }
            stops.append(stop)
        }
        (self.root, self.prefix, self.key) = (.message, "stops", .empty)
        guard !stops.isEmpty else { throw self.refuse("stops must have at least one element; found none") }
        return stops
    }

    /// Reads the id of a stop: 1 to 64 bytes of plain text.
    mutating func stopID() throws(Refusal) -> String {
        try self.text(WireLimits.tripIDRule) { $0.isTripID ? $0 : nil }
    }

    fileprivate mutating func journeyStop() throws(Refusal) -> Journey.Stop {
        var id: String?
        var location: Coordinate?
        var stop = Journey.Stop(id: "", location: Coordinate(wrappingLatitude: 0, longitude: 0))
        try self.beginObject()
        while try self.nextMember() {
            switch self.key {
            case "id": id = try self.stopID()
            case "name": stop.name = try self.skipNull() ? nil : self.stopName()
            case "location": location = try self.place()
            case "radius": stop.radius = try self.optionalNumber(.radius).map { Meters($0) } ?? stop.radius
            case "planned": stop.planned = try self.optionalNumber(.time).map { UnixTime($0) }
            default: try self.skipValue()
            }
        }
        guard let id else { throw self.missing("id") }
        guard let location else { throw self.missing("location") }
        (stop.id, stop.location) = (id, location)
        return stop
    }

    private mutating func stopName() throws(Refusal) -> String {
        try self.text(Self.stopNameRule) {
            (1...Journey.Stop.maximumNameBytes).contains($0.utf8.count) && $0.isPlainText ? $0 : nil
        }
    }

    private static let stopNameRule =
        "a string of 1 to \(Journey.Stop.maximumNameBytes) bytes without control characters and without characters that change the direction of text"
}
