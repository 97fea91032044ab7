public import TrackingCore

extension AgentStatus {
    /// The agent's status as the members of a JSON object, by name.
    public var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "time": .number(self.time.seconds), "on": .flag(self.isOn), "connection": .object(self.connection.members),
            "recorders": .list(self.recorders.map { .text($0.rawValue) }), "mode": .text(self.mode.rawValue),
            "trackables": .list(self.trackables.map { .object($0.members) }), "queue": .object(self.queue.members),
            "dropped": .number(Double(self.dropped)), "quarantined": .number(Double(self.quarantined)),
            "unwritten": .number(Double(self.unwritten)),
        ]
        members["writeFailure"] = self.writeFailure.map { .text($0) }
        members["sensorResolution"] = self.sensorResolution?.json
        members["receiverAsleepUntil"] = self.receiverAsleepUntil?.json
        members["lastAttempt"] = self.lastAttempt?.json
        members["lastAcknowledged"] = self.lastAcknowledged?.json
        members["lastFix"] = self.lastFix.flatMap { try? JSONValue(json: LocationCodec.encodeFeature($0)) }
        members["battery"] = self.battery.map { .number($0) }
        return members
    }

    /// The largest number of bytes of JSON for the trackables in one line of the status on the control socket. The list
    /// of trackables is divided into pieces of at most this size.
    private static let pieceBytes = 65_536

    /// The status as JSON, in parts that each fit into one line on the control socket. Each element of `pieces` is a
    /// part of the list of trackables. `last` contains the last part of that list, and all other members of the status.
    var membersInPieces: (pieces: [[JSONValue]], last: [String: JSONValue]) {
        var pieces: [[JSONValue]] = [[]]
        var bytes = 0
        for trackable in self.trackables.map({ JSONValue.object($0.members) }) {
            let size = trackable.json.count
            if bytes + size > Self.pieceBytes {
                pieces.append([])
                bytes = 0
            }
            pieces[pieces.count - 1].append(trackable)
            bytes += size
        }
        var last = self.members
        last["trackables"] = pieces.popLast().map { .list($0) }
        return (pieces, last)
    }

    /// Parses the agent's status from the members of a JSON object.
    ///
    /// - Throws: `invalidPayload` for a missing or invalid member; `invalidName` for an invalid trackable id;
    ///   `invalidConfiguration` for a receiver's resolution that is out of range.
    public init(members: [String: JSONValue]) throws(TrackingError) {
        let message = JSONMembers(members)
        let connection = try message.members("connection")
        self.init(
            time: try message.time("time"), isOn: try message.flag("on"),
            connection: Connection(
                isUp: try connection.flag("up"), broker: try connection.text("broker"),
                since: connection.optionalTime("since"), reason: connection["reason"]?.text),
            mode: try message.choice("mode"))
        self.recorders = try (message["recorders"]?.list ?? []).map { (value) throws(TrackingError) in
            try ClientID(value.text ?? "")
        }
        self.trackables = try (message["trackables"]?.list ?? []).map { (value) throws(TrackingError) in
            try Trackable(JSONMembers(value.object ?? [:]))
        }
        self.queue = try SpoolAmount(message.members("queue"))
        self.dropped = try message.count("dropped")
        self.quarantined = try message.count("quarantined")
        self.unwritten = try message.count("unwritten")
        self.writeFailure = message["writeFailure"]?.text
        self.sensorResolution = try message["sensorResolution"].map { (value) throws(TrackingError) in
            try Resolution(value)
        }
        self.receiverAsleepUntil = message.optionalTime("receiverAsleepUntil")
        self.lastAttempt = message.optionalTime("lastAttempt")
        self.lastAcknowledged = message.optionalTime("lastAcknowledged")
        self.lastFix = try message["lastFix"].map { (value) throws(TrackingError) in
            try LocationCodec.decodeFeature(value.json)
        }
        self.battery = message["battery"]?.number
    }
}

extension AgentStatus.Connection {
    fileprivate var members: [String: JSONValue] {
        var members: [String: JSONValue] = ["up": .flag(self.isUp), "broker": .text(self.broker)]
        members["since"] = self.since?.json
        members["reason"] = self.reason.map { .text($0) }
        return members
    }
}

extension SpoolAmount {
    fileprivate var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "points": .number(Double(self.points)), "trips": .number(Double(self.trips)),
            "events": .number(Double(self.events)), "bytes": .number(Double(self.bytes)),
        ]
        members["oldest"] = self.oldest?.json
        return members
    }

    fileprivate init(_ message: JSONMembers) throws(TrackingError) {
        self.init(
            points: try message.count("points"), trips: try message.count("trips"), events: try message.count("events"),
            bytes: try message.count("bytes"), oldest: message.optionalTime("oldest"))
    }
}

extension AgentStatus.Trackable {
    fileprivate var members: [String: JSONValue] {
        var members: [String: JSONValue] = [
            "id": .text(self.id.rawValue), "state": .text(self.state.rawValue), "queue": .object(self.queue.members),
        ]
        members["resolution"] = self.resolution.flatMap { try? JSONValue(json: MessageCodec.encode($0)) }
        members["destination"] = self.destination.map { .list([.number($0.longitude), .number($0.latitude)]) }
        members["trip"] = self.trip.flatMap { try? JSONValue(json: MessageCodec.encode($0)) }
        members["refusal"] = self.refusal.map { .text($0) }
        return members
    }

    fileprivate init(_ message: JSONMembers) throws(TrackingError) {
        self.init(
            id: try TrackableID(try message.text("id")), state: try message.choice("state"),
            queue: try SpoolAmount(message.members("queue")))
        self.resolution = try message["resolution"].map { (value) throws(TrackingError) in
            try MessageCodec.decodeResolution(value.json)
        }
        if let place = message["destination"]?.list?.compactMap(\.number), place.count == 2 {
            self.destination = Coordinate(latitude: place[1], longitude: place[0])
        }
        self.trip = try message["trip"].map { (value) throws(TrackingError) in try MessageCodec.decodeTrip(value.json) }
        self.refusal = message["refusal"]?.text
    }
}

extension UnixTime {
    fileprivate var json: JSONValue { .number(self.seconds) }
}

extension Resolution {
    fileprivate var json: JSONValue {
        .object([
            "accuracy": .text(self.accuracy.rawValue),
            "desiredInterval": .number(Double(self.desiredInterval.inMilliseconds)),
            "minimumDisplacement": .number(self.minimumDisplacement.value),
        ])
    }

    fileprivate init(_ value: JSONValue) throws(TrackingError) {
        let message = JSONMembers(value.object ?? [:])
        try self.init(
            accuracy: try message.choice("accuracy"),
            desiredInterval: .milliseconds(try message.count("desiredInterval")),
            minimumDisplacement: Meters(message["minimumDisplacement"]?.number ?? 0))
    }
}

/// The members of a JSON object that describes the agent's status. A function for a required member returns its value
/// in the expected type, or throws `invalidPayload`. An optional member is `nil` if it is missing.
struct JSONMembers {
    private let members: [String: JSONValue]

    init(_ members: [String: JSONValue]) { self.members = members }

    subscript(name: String) -> JSONValue? { self.members[name] }

    func text(_ name: String) throws(TrackingError) -> String {
        try self.required(name, "a string", self.members[name]?.text)
    }

    func flag(_ name: String) throws(TrackingError) -> Bool {
        try self.required(name, "true or false", self.members[name]?.flag)
    }

    func count(_ name: String) throws(TrackingError) -> Int {
        try self.required(name, "a whole number of 0 or more", self.members[name]?.count)
    }

    func time(_ name: String) throws(TrackingError) -> UnixTime {
        UnixTime(try self.required(name, "Unix time in seconds", self.members[name]?.number))
    }

    func optionalTime(_ name: String) -> UnixTime? { self.members[name]?.number.map { UnixTime($0) } }

    func members(_ name: String) throws(TrackingError) -> JSONMembers {
        JSONMembers(try self.required(name, "an object", self.members[name]?.object))
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) throws(TrackingError) -> Choice {
        let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return try self.required(name, "one of \(words)", Choice(rawValue: try self.text(name)))
    }

    private func required<Value>(_ name: String, _ what: String, _ value: Value?) throws(TrackingError) -> Value {
        guard let value else {
            throw TrackingError(
                .invalidPayload,
                "cannot read the agent's status: its member '\(name)' must be \(what). Use programs of the same version"
            )
        }
        return value
    }
}
