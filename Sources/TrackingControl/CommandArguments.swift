import TrackingCore

/// The arguments of a command to the agent. Its functions read one argument, or all arguments of a CONFIGURE or SETUP
/// command, as the expected type. They throw `invalidArguments` if an argument has another type or form.
struct CommandArguments {
    private let arguments: [String: JSONValue]
    private let origin: ControlDispatcher.Origin

    init(_ arguments: [String: JSONValue], origin: ControlDispatcher.Origin) {
        self.arguments = arguments
        self.origin = origin
    }

    /// `true` for a command that arrived through the broker, `false` for one from the local socket.
    var isFromAfar: Bool { self.origin != .socket }

    /// Returns the trackable that the command names, else the trackable in the MQTT topic on which the command arrived.
    ///
    /// - Throws: `invalidArguments` if neither the command nor its topic names a trackable.
    func trackable() throws(CommandFailure) -> TrackableID {
        guard let id = try self.trackableOrNone() else {
            throw Self.failure("the argument 'trackable' is missing. Name the trackable of the command")
        }
        return id
    }

    /// Returns the trackable that the command names, else the trackable in the MQTT topic on which the command arrived;
    /// `nil` if neither the command nor a topic names one.
    func trackableOrNone() throws(CommandFailure) -> TrackableID? {
        guard let text = try self.text("trackable") else {
            if case .topic(let id) = self.origin { return id }
            return nil
        }
        do throws(TrackingError) { return try TrackableID(text) } catch { throw CommandFailure(error) }
    }

    /// Returns the trackable to which the command applies; `nil` if neither the command nor its MQTT topic names one. A
    /// command from the broker may only apply to the trackable of its topic.
    ///
    /// - Throws: `notAllowed` if a command from the broker names a trackable other than that of its topic.
    func commandedOrNone() throws(CommandFailure) -> TrackableID? {
        let id = try self.trackableOrNone()
        if case .topic(let own) = self.origin, let id, id != own { throw Self.notOwn("'\(id)'", own) }
        return id
    }

    /// Returns the trackable to which the command applies.
    ///
    /// - Throws: `invalidArguments` if neither the command nor its MQTT topic names one; `notAllowed` if a command from
    ///   the broker names a trackable other than that of its topic.
    func commanded() throws(CommandFailure) -> TrackableID {
        guard let id = try self.commandedOrNone() else {
            throw Self.failure("the argument 'trackable' is missing. Name the trackable of the command")
        }
        return id
    }

    /// Makes the error for a command from the broker that would change a trackable other than that of its topic.
    ///
    /// - Parameters:
    ///   - what: The thing that the command may not change, for the error message.
    ///   - own: The trackable of the command's topic.
    static func notOwn(_ what: String, _ own: TrackableID) -> CommandFailure {
        CommandFailure(
            .notAllowed,
            "a command on the topic of '\(own)' may not change \(what). Publish the command on that trackable's topic")
    }

    /// Returns the argument `destination`, `[longitude, latitude]` in degrees; `nil` if it is missing.
    func destination() throws(CommandFailure) -> Coordinate? {
        guard let value = self.arguments["destination"] else { return nil }
        guard let place = value.list?.compactMap(\.number), place.count == 2, value.list?.count == 2,
            let coordinate = Coordinate(latitude: place[1], longitude: place[0])
        else { throw Self.failure("the argument 'destination' must be [longitude, latitude] in degrees") }
        return coordinate
    }

    /// Returns the argument `mode`, the mode of travel in 1 to 64 bytes; `nil` if it is missing.
    func tripMode() throws(CommandFailure) -> String? {
        guard let mode = try self.text("mode") else { return nil }
        guard (1...64).contains(mode.utf8.count) else {
            throw Self.failure("the argument 'mode' must have 1 to 64 bytes")
        }
        return mode
    }

    /// Returns the argument `limit`, the largest number of records to list: 1 to 200. Without the argument, the limit
    /// is 50.
    func limit() throws(CommandFailure) -> Int {
        guard let value = self.arguments["limit"] else { return 50 }
        guard let limit = value.count, (1...200).contains(limit) else {
            throw Self.failure("the argument 'limit' must be 1 to 200")
        }
        return limit
    }

    /// Returns the argument `records`, a list of record names in the form `STREAM:SEQ` (a stream id and a record
    /// number). Returns `nil` without the argument, which means all records.
    func records() throws(CommandFailure) -> [RecordName]? {
        guard let value = self.arguments["records"] else { return nil }
        let names = value.list?.compactMap { $0.text.flatMap { RecordName($0) } }
        guard let names, names.count == value.list?.count else {
            throw Self.failure("the argument 'records' must be a list of record names in the form 'stream:seq'")
        }
        return names
    }

    /// Returns the settings of a CONFIGURE command: the long names of options, each with its value written as on the
    /// command line.
    func settings() throws(CommandFailure) -> [String: String] {
        var settings: [String: String] = [:]
        for (key, value) in self.arguments {
            switch value {
            case .text(let text): settings[key] = text
            case .number: settings[key] = String(decoding: value.json, as: UTF8.self)
            case .flag(let flag): settings[key] = flag ? "on" : "off"
            case .list, .object: throw Self.failure("the setting '\(key)' must be a text, a number, true or false")
            }
        }
        guard !settings.isEmpty else {
            throw Self.failure("the command names no setting. Name at least one option with its new value")
        }
        return settings
    }

    func flag(_ name: String) throws(CommandFailure) -> Bool {
        guard let value = self.arguments[name] else { return false }
        guard let flag = value.flag else { throw Self.failure("the argument '\(name)' must be true or false") }
        return flag
    }

    /// Returns the argument `unsent`: the treatment of unsent points when another trackable is tracked instead. It is
    /// `refuse`, `clear` or `send`; `refuse` without the argument.
    func unsent() throws(CommandFailure) -> UnsentPoints {
        guard let text = try self.text("unsent") else { return .refuse }
        guard let unsent = UnsentPoints(rawValue: text) else {
            throw Self.failure("the argument 'unsent' must be refuse, clear or send")
        }
        return unsent
    }

    /// Returns the values of a set-up link (broker, user, token, trackable) from the arguments of a SETUP command.
    func setup() throws(CommandFailure) -> SetupRequest {
        let (broker, user) = (try self.text("broker"), try self.text("user"))
        let (token, trackable) = (try self.text("token"), try self.text("trackable"))
        do throws(TrackingError) {
            return try SetupRequest(broker: broker, user: user, token: token, trackable: trackable)
        } catch { throw CommandFailure(error) }
    }

    private func text(_ name: String) throws(CommandFailure) -> String? {
        guard let value = self.arguments[name] else { return nil }
        guard let text = value.text else { throw Self.failure("the argument '\(name)' must be a string") }
        return text
    }

    private static func failure(_ message: String) -> CommandFailure { CommandFailure(.invalidArguments, message) }
}
