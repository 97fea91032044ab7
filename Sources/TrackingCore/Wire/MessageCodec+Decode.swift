extension MessageCodec {
    /// Decodes a presence, the announcement that a publisher or subscriber is present on a trackable.
    ///
    /// - Parameters:
    ///   - payload: The JSON.
    ///   - kind: The role that the topic states, publisher or subscriber. A presence with another `type` is an error;
    ///     `nil` accepts both.
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodePresence(
        _ payload: some Collection<UInt8>, expecting kind: MemberKind? = nil
    ) throws(TrackingError) -> Presence {
        let message = try JSONObject(state: payload, "a presence")
        let presence = Presence(
            kind: try message.required("type") { json throws(Refusal) in try json.choice() },
            session: try message.session(),
            connection: try message.count("connection"),
            lease: try message.lease(),
            since: UnixTime(try message.number("since", .time)),
            stream: try message.optional("stream") { json throws(Refusal) in
                try json.stream()
            },
            rawLocations: try message.optional("rawLocations") { json throws(Refusal) in
                try json.flag()
            },
            metadata: try message.optional("metadata") { json throws(Refusal) in
                try json.text(WireLimits.metadataRule) { $0.isMetadata ? $0 : nil }
            },
            sendsResolution: try message.optional("sendsResolution") { json throws(Refusal) in
                try json.flag()
            })
        guard kind == nil || presence.kind == kind else {
            throw TrackingError(
                .invalidPayload,
                "the member type must match the topic: found \(presence.kind.rawValue) on a topic for another type")
        }
        return presence
    }

    /// Decodes a liveness message, the announcement that a client is connected or has left.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeLiveness(_ payload: some Collection<UInt8>) throws(TrackingError) -> Liveness {
        let message = try JSONObject(state: payload, "a liveness")
        let isOnline = try message.required("status") { json throws(Refusal) in
            try json.text("\"online\" or \"offline\"") { ["online": true, "offline": false][$0] }
        }
        return Liveness(
            status: isOnline ? .online(lease: try message.lease()) : .offline,
            session: try message.session(),
            connection: try message.count("connection"),
            remainsPresentFor: isOnline ? nil : try message.remainingTime(),
            group: try message.optional("group") { json throws(Refusal) in try json.enhancerGroup() })
    }

    /// Decodes a subscriber's request for a resolution.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeRequest(_ payload: some Collection<UInt8>) throws(TrackingError) -> ResolutionRequest {
        let message = try JSONObject(state: payload, "a request")
        return ResolutionRequest(session: try message.session(), resolution: try message.resolution())
    }

    /// Decodes a publisher's message about the resolution that it uses now for a trackable.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeResolution(_ payload: some Collection<UInt8>) throws(TrackingError) -> ResolutionInForce {
        let message = try JSONObject(state: payload, "a resolution in force")
        return ResolutionInForce(
            resolution: try message.resolution(),
            isNear: try message.flag("near"),
            subscribers: try message.count("subscribers"),
            isLowBattery: try message.flag("lowBattery"),
            state: try message.required("state") { json throws(Refusal) in try json.choice() },
            filter: try message.required("filter") { json throws(Refusal) in try json.choice() },
            maximumSilence: .milliseconds(Int64(try message.number("maximumSilence", .milliseconds))),
            approach: try message.approach())
    }

    /// Decodes an event from the network. The event has at most ``WireLimits/maximumDocumentBytes``, and its detail at
    /// most ``WireLimits/maximumDetailBytes``.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeEvent(_ payload: some Collection<UInt8>) throws(TrackingError) -> TrackingEvent {
        try self.checkSize(payload.count, WireLimits.maximumDocumentBytes, "an event")
        let (event, detailBytes) = try self.decodeSized(payload)
        try self.checkSize(detailBytes, WireLimits.maximumDetailBytes, "the detail of an event")
        try event.checkDetail()
        return event
    }

    /// Decodes an event from a log or database, without the size limits of ``decodeEvent(_:)``.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    package static func decodeStoredEvent(_ payload: some Collection<UInt8>) throws(TrackingError) -> TrackingEvent {
        try self.decodeSized(payload).event
    }

    /// Decodes an event without the size limits of ``decodeEvent(_:)``. Returns the event with the size of its detail
    /// in the payload, in bytes.
    private static func decodeSized(
        _ payload: some Collection<UInt8>
    ) throws(TrackingError) -> (event: TrackingEvent, detailBytes: Int) {
        let message = try JSONObject(payload: payload)
        let event = try self.event(message)
        let detailBytes = try message.optional("detail") { json throws(Refusal) in
            _ = json.peek()
            let start = json.position
            try json.skipValue()
            return json.read(since: start).count
        }
        return (event, detailBytes ?? 0)
    }

    private static func event(_ message: JSONObject) throws(TrackingError) -> TrackingEvent {
        TrackingEvent(
            id: try message.name("id"),
            stream: try message.required("stream") { json throws(Refusal) in
                try json.stream()
            },
            seq: UInt64(try message.count("seq", from: 1)),
            time: UnixTime(try message.number("time", .time)),
            kind: TrackingEvent.Kind(rawValue: try message.name("kind")),
            detail: try message.optional("detail") { json throws(Refusal) in
                try json.members()
            } ?? [:],
            location: try message.optional("location") { json throws(Refusal) in
                try json.feature(.location)
            })
    }
}

extension MessageCodec {
    /// Checks the size of a message or of a part of it.
    ///
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` that names the part, its size and the limit.
    static func checkSize(_ count: Int, _ most: Int, _ part: String) throws(TrackingError) {
        guard count > most else { return }
        throw TrackingError(.payloadTooLarge, "\(part) may have at most \(most) bytes; this one has \(count) bytes")
    }
}

extension TrackingEvent {
    /// Checks that the detail of this event has at most ``WireLimits/maximumDetailBytes`` as JSON, so that readers
    /// accept the event.
    ///
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` that names the kind, the size and the limit.
    package func checkDetail() throws(TrackingError) { try Self.check(self.detail, of: self.kind) }

    /// Checks that a detail has at most ``WireLimits/maximumDetailBytes`` as JSON, so that readers accept an event of
    /// this kind with it.
    ///
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` that names the kind, the size and the limit.
    package static func check(_ detail: [String: DetailValue], of kind: Kind) throws(TrackingError) {
        guard !detail.isEmpty else { return }
        try MessageCodec.checkSize(
            JSONValue.object(detail).json.count, WireLimits.maximumDetailBytes,
            "the detail of an event (\(kind.rawValue.printable.prefix(64)))")
    }
}

extension JSONObject {
    /// Parses a retained message about a current state: a presence, a liveness, a resolution request or a resolution in
    /// force. Rejects a message that is larger than ``WireLimits/maximumStateBytes``.
    fileprivate init(state payload: some Collection<UInt8>, _ part: String) throws(TrackingError) {
        try MessageCodec.checkSize(payload.count, WireLimits.maximumStateBytes, part)
        try self.init(payload: payload)
    }

    fileprivate func session() throws(TrackingError) -> SessionID {
        try self.required("session") { json throws(Refusal) in
            try json.text("a string of 1 to 64 bytes", SessionID.init)
        }
    }

    fileprivate func lease() throws(TrackingError) -> Duration {
        .seconds(Int64(try self.number("lease", .lease)))
    }

    fileprivate func remainingTime() throws(TrackingError) -> Duration? {
        let seconds = try self.optional("remain") { json throws(Refusal) in try json.number(.lease) }
        return seconds.map { .seconds(Int64($0)) }
    }

    fileprivate func resolution() throws(TrackingError) -> Resolution {
        let object = try self.object("resolution", .resolution)
        return Resolution(
            unchecked: try object.required("accuracy") { json throws(Refusal) in try json.choice() },
            milliseconds: Int64(try object.number("desiredInterval", .interval)),
            displacement: Meters(try object.number("minimumDisplacement", .notNegative)))
    }

    fileprivate func name(_ name: StaticString) throws(TrackingError) -> String {
        try self.required(name) { json throws(Refusal) in
            try json.text("a string of 1 to 64 bytes") { (1...64).contains($0.utf8.count) ? $0 : nil }
        }
    }

    /// Reads a trackable's approach to its destination: the members `destination`, `distance` and `timeToArrival`.
    /// Returns `nil` without `destination`, even if the other two members are present.
    fileprivate func approach() throws(TrackingError) -> Approach? {
        let destination = try self.optional("destination") { json throws(Refusal) in try json.place() }
        guard let destination else { return nil }
        return Approach(
            destination: destination, distance: try self.optionalNumber("distance").map { Meters($0) },
            timeToArrival: try self.optionalNumber("timeToArrival").map { Duration(clampingSeconds: $0) })
    }

    private func optionalNumber(_ name: StaticString) throws(TrackingError) -> Double? {
        try self.optional(name) { json throws(Refusal) in try json.number(.notNegative) }
    }

    fileprivate func number(_ name: StaticString, _ rule: NumberRule) throws(TrackingError) -> Double {
        try self.required(name) { json throws(Refusal) in try json.number(rule) }
    }

    fileprivate func count(_ name: StaticString, from least: Int = 0) throws(TrackingError) -> Int {
        try self.required(name) { json throws(Refusal) in
            try json.integer(least...WireLimits.greatest)
        }
    }

    fileprivate func flag(_ name: StaticString) throws(TrackingError) -> Bool {
        try self.required(name) { json throws(Refusal) in try json.flag() }
    }
}

extension JSONScanner {
    /// Reads a geographic position, `[longitude, latitude]`. Further numbers are ignored, as in GeoJSON.
    mutating func place() throws(Refusal) -> Coordinate {
        var numbers: [Double] = []
        try self.beginArray()
        while try self.nextElement() {
            let number = try self.number(
                numbers.isEmpty ? .longitude : numbers.count == 1 ? .latitude : .finite)
            if numbers.count < 2 { numbers.append(number) }
        }
        guard numbers.count == 2, let place = Coordinate(latitude: numbers[1], longitude: numbers[0]) else {
            throw self.mismatch("[longitude, latitude]", found: "fewer numbers")
        }
        return place
    }
}
