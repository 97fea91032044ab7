extension MessageCodec {
    /// Encodes the estimated arrival times of a trackable at the stops of its journey. Omits numbers that the protocol
    /// does not allow.
    ///
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` above ``Estimate/maximumBytes``.
    public static func encode(_ estimate: Estimate) throws(TrackingError) -> [UInt8] {
        let bytes = self.json(of: estimate)
        try self.checkSize(bytes.count, Estimate.maximumBytes, "an estimate")
        return bytes
    }

    /// Returns a received estimate as JSON, with the members of the protocol. Its size differs from that of the message
    /// that the estimate was decoded from, and is not limited here.
    package static func json(of estimate: Estimate) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        writer.raw("{")
        writer.member("time", estimate.time.seconds, .time)
        writer.member("basis", estimate.basis.rawValue)
        writer.name("stops")
        writer.raw("[")
        for stop in estimate.stops {
            writer.separate()
            writer.stop(stop)
        }
        writer.raw("]")
        if !estimate.route.isEmpty { writer.member("route", Polyline.encode(estimate.route)) }
        writer.raw("}")
        return writer.bytes
    }

    /// Decodes an estimate of at most ``Estimate/maximumBytes``, ``Journey/maximumStops`` stops and
    /// ``Estimate/maximumRoutePoints`` points of the remaining way.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeEstimate(_ payload: some Collection<UInt8>) throws(TrackingError) -> Estimate {
        try self.checkSize(payload.count, Estimate.maximumBytes, "an estimate")
        let message = try JSONObject(payload: payload)
        return Estimate(
            time: UnixTime(try message.required("time") { json throws(Refusal) in try json.number(.time) }),
            basis: try message.required("basis") { json throws(Refusal) in try json.choice() },
            stops: try message.required("stops") { json throws(Refusal) in
                try json.stops(\.id) { json throws(Refusal) in try json.estimateStop() }
            },
            route: try message.optional("route") { json throws(Refusal) in try json.polyline() } ?? [])
    }
}

extension JSONWriter {
    fileprivate mutating func stop(_ stop: Estimate.Stop) {
        self.raw("{")
        self.member("id", stop.id)
        self.member("eta", stop.eta?.seconds, .time)
        self.member("earliest", stop.earliest?.seconds, .time)
        self.member("latest", stop.latest?.seconds, .time)
        self.member("distance", stop.distance?.value, .notNegative)
        self.member("status", stop.status.rawValue)
        self.raw("}")
    }
}

extension JSONScanner {
    fileprivate mutating func estimateStop() throws(Refusal) -> Estimate.Stop {
        var id: String?
        var status: Estimate.Status?
        var stop = Estimate.Stop(id: "", status: .unknown)
        try self.beginObject()
        while try self.nextMember() {
            switch self.key {
            case "id": id = try self.stopID()
            case "eta": stop.eta = try self.optionalTime()
            case "earliest": stop.earliest = try self.optionalTime()
            case "latest": stop.latest = try self.optionalTime()
            case "distance": stop.distance = try self.optionalNumber(.notNegative).map { Meters($0) }
            case "status": status = try self.choice()
            default: try self.skipValue()
            }
        }
        guard let id else { throw self.missing("id") }
        guard let status else { throw self.missing("status") }
        (stop.id, stop.status) = (id, status)
        return stop
    }

    private mutating func optionalTime() throws(Refusal) -> UnixTime? {
        try self.optionalNumber(.time).map { UnixTime($0) }
    }

    fileprivate mutating func polyline() throws(Refusal) -> [Coordinate] {
        let most = Estimate.maximumRoutePoints
        return try self.text("an encoded polyline with six decimals and at most \(most) points") {
            Polyline.decode($0, limit: most)
        }
    }
}
