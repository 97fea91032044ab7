/// The encoding of commands and of their answers as JSON.
public enum CommandCodec {
    /// Encodes a command to a publisher as JSON.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` when the id or the name does not have 1 to 64 bytes, or a time
    ///   is out of range; ``TrackingError/Code/payloadTooLarge`` above 16 KiB.
    public static func encode(_ command: Command) throws(TrackingError) -> [UInt8] {
        guard Self.isName(command.id), Self.isName(command.name.rawValue) else {
            throw TrackingError(
                .invalidPayload,
                "cannot encode the command: its members id and command must be strings of 1 to 64 bytes")
        }
        guard NumberRule.time.allows(command.time.seconds), NumberRule.time.allows(command.deadline.seconds) else {
            throw TrackingError(
                .invalidPayload,
                "cannot encode the command: its members time and expires must be \(NumberRule.time.words)")
        }
        var writer = JSONWriter(capacity: 256)
        writer.raw("{")
        writer.member("id", command.id)
        writer.member("command", command.name.rawValue)
        writer.member("time", command.time.seconds, .time)
        writer.member("expires", command.expires?.seconds, .time)
        writer.name("arguments")
        writer.object(command.arguments)
        writer.raw("}")
        try Self.check(writer.count, Command.maximumBytes, "a command")
        return writer.bytes
    }

    /// Decodes a command of at most 16 KiB. Without the member `arguments`, the command has no arguments.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decode(_ payload: some Collection<UInt8>) throws(TrackingError) -> Command {
        try Self.check(payload.count, Command.maximumBytes, "a command")
        let message = try JSONObject(payload: payload)
        return Command(
            id: try message.commandName("id"), name: Command.Name(rawValue: try message.commandName("command")),
            time: UnixTime(try message.required("time") { json throws(Refusal) in try json.number(.time) }),
            expires: try message.optional("expires") { json throws(Refusal) in
                UnixTime(try json.number(.time))
            },
            arguments: try message.optional("arguments") { json throws(Refusal) in try json.members() } ?? [:])
    }

    /// Encodes a publisher's answer to a command as JSON.
    ///
    /// - Throws: ``TrackingError/Code/payloadTooLarge`` above 128 KB.
    public static func encode(_ answer: CommandAnswer) throws(TrackingError) -> [UInt8] {
        let bytes = JSONValue.object(answer.members).json
        try Self.check(bytes.count, WireLimits.maximumPayloadBytes, "an answer")
        return bytes
    }

    /// Decodes an answer to a command.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` for a payload that is not valid JSON or has a wrong member,
    ///   which the message names; ``TrackingError/Code/payloadTooLarge``.
    public static func decodeAnswer(_ payload: some Collection<UInt8>) throws(TrackingError) -> CommandAnswer {
        let message = try JSONValue(json: payload)
        guard let members = message.object else {
            throw TrackingError(
                .invalidPayload, "cannot read the answer to a command: the payload must be a JSON object")
        }
        return try CommandAnswer(members: members)
    }

    /// Reads the answer to a command from the detail of an event of kind COMMAND.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` when the event has another kind, or a member is wrong.
    public static func answer(in event: TrackingEvent) throws(TrackingError) -> CommandAnswer {
        guard event.kind == .command else {
            throw TrackingError(
                .invalidPayload, "cannot read the answer to a command from an event: the event's kind must be COMMAND")
        }
        return try CommandAnswer(members: event.detail)
    }

    static func isName(_ text: String) -> Bool { (1...64).contains(text.utf8.count) }

    private static func check(_ count: Int, _ most: Int, _ what: String) throws(TrackingError) {
        guard count <= most else {
            throw TrackingError(
                .payloadTooLarge, "\(what) may have at most \(most) bytes; this one has \(count) bytes. Shorten it")
        }
    }
}

extension CommandAnswer {
    /// The answer to a command as the members of a JSON object: `id`, `ok`, and `result` or `error`. The code of an
    /// error is cut to 64 bytes, and its message to 1,000 bytes.
    public var members: [String: JSONValue] {
        switch self.outcome {
        case .success(let result):
            return ["id": .text(self.id), "ok": .flag(true), "result": .object(result)]
        case .failure(let failure):
            let code = String(decoding: failure.code.rawValue.utf8.prefix(64), as: UTF8.self)
            let message = String(decoding: failure.message.utf8.prefix(1000), as: UTF8.self)
            return [
                "id": .text(self.id), "ok": .flag(false),
                "error": .object(["code": .text(code), "message": .text(message)]),
            ]
        }
    }

    /// The answer as the detail of an event. The detail omits the result of a success when the complete ``members``
    /// exceed ``WireLimits/maximumDetailBytes``. The detail then contains `resultOmitted`. A failure is always below
    /// that limit.
    package var eventDetail: [String: JSONValue] {
        let members = self.members
        guard case .success = self.outcome, JSONValue.object(members).json.count > WireLimits.maximumDetailBytes
        else { return members }
        return ["id": .text(self.id), "ok": .flag(true), "resultOmitted": .flag(true)]
    }

    /// Makes an answer to a command from the members of a JSON object.
    ///
    /// - Throws: ``TrackingError/Code/invalidPayload`` that names the wrong member.
    public init(members: [String: JSONValue]) throws(TrackingError) {
        guard let id = members["id"]?.text, CommandCodec.isName(id) else {
            throw TrackingError(
                .invalidPayload,
                "cannot read the answer to a command: its member id must be a string of 1 to 64 bytes. Use programs of the same version"
            )
        }
        guard let isDone = members["ok"]?.flag else {
            throw TrackingError(
                .invalidPayload,
                "cannot read the answer to a command: its member ok must be true or false. Use programs of the same version"
            )
        }
        if isDone {
            self.init(id: id, outcome: .success(members["result"]?.object ?? [:]))
            return
        }
        guard let error = members["error"], let code = error["code"]?.text, let message = error["message"]?.text else {
            throw TrackingError(
                .invalidPayload,
                "cannot read the answer to a command: its member error must be an object with the strings code and message. Use programs of the same version"
            )
        }
        self.init(id: id, outcome: .failure(CommandFailure(.init(rawValue: code), message)))
    }
}

extension JSONObject {
    fileprivate func commandName(_ name: StaticString) throws(TrackingError) -> String {
        try self.required(name) { json throws(Refusal) in
            try json.text("a string of 1 to 64 bytes") { CommandCodec.isName($0) ? $0 : nil }
        }
    }
}
