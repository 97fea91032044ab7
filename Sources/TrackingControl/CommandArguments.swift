import TrackingCore

/// The arguments of a command, read as their expected types.
struct CommandArguments {
    private let arguments: [String: JSONValue]
    private let origin: ControlDispatcher.Origin

    init(_ arguments: [String: JSONValue], origin: ControlDispatcher.Origin) {
        self.arguments = arguments
        self.origin = origin
    }

    /// `true` for a command from the broker.
    var isFromAfar: Bool { self.origin != .socket }

    /// Returns the named trackable, or the one of the command's topic.
    func trackable() throws(CommandFailure) -> TrackableID {
        guard let id = try self.trackableOrNone() else { throw Self.failure("trackable is missing") }
        return id
    }

    /// Returns the named trackable, or the one of the command's topic; `nil` where there is neither.
    func trackableOrNone() throws(CommandFailure) -> TrackableID? {
        guard let text = try self.text("trackable") else {
            if case .topic(let id) = self.origin { return id }
            return nil
        }
        do throws(TrackingError) { return try TrackableID(text) } catch { throw CommandFailure(error) }
    }

    /// Returns the trackable to command, as ``trackableOrNone()``. A command from the broker may only command the
    /// trackable of its topic, because the right to command one trackable does not include the others of its device.
    func commandedOrNone() throws(CommandFailure) -> TrackableID? {
        let id = try self.trackableOrNone()
        if case .topic(let own) = self.origin, let id, id != own { throw Self.notOwn("'\(id)'", own) }
        return id
    }

    /// Returns the trackable to command.
    func commanded() throws(CommandFailure) -> TrackableID {
        guard let id = try self.commandedOrNone() else { throw Self.failure("trackable is missing") }
        return id
    }

    /// The error of a command from the broker that names a trackable other than its topic's.
    static func notOwn(_ what: String, _ own: TrackableID) -> CommandFailure {
        CommandFailure(.notAllowed, "\(what) is not commanded through '\(own)'")
    }

    /// Returns `[longitude, latitude]` in degrees; `nil` where there is none.
    func destination() throws(CommandFailure) -> Coordinate? {
        guard let value = self.arguments["destination"] else { return nil }
        guard let place = value.list?.compactMap(\.number), place.count == 2, value.list?.count == 2,
            let coordinate = Coordinate(latitude: place[1], longitude: place[0])
        else { throw Self.failure("destination must be [longitude, latitude] in degrees") }
        return coordinate
    }

    /// Returns the mode of travel: 1 to 64 bytes.
    func tripMode() throws(CommandFailure) -> String? {
        guard let mode = try self.text("mode") else { return nil }
        guard (1...64).contains(mode.utf8.count) else { throw Self.failure("mode must have 1 to 64 bytes") }
        return mode
    }

    /// Returns the largest number of records: 1 to 200, by default 50.
    func limit() throws(CommandFailure) -> Int {
        guard let value = self.arguments["limit"] else { return 50 }
        guard let limit = value.count, (1...200).contains(limit) else { throw Self.failure("limit must be 1 to 200") }
        return limit
    }

    /// Returns the records named as `STREAM:SEQ`; `nil` for all.
    func records() throws(CommandFailure) -> [RecordName]? {
        guard let value = self.arguments["records"] else { return nil }
        let names = value.list?.compactMap { $0.text.flatMap { RecordName($0) } }
        guard let names, names.count == value.list?.count else {
            throw Self.failure("records must be a list of 'stream:seq'")
        }
        return names
    }

    /// Returns the settings of a CONFIGURE, each in the form of the command line.
    func settings() throws(CommandFailure) -> [String: String] {
        var settings: [String: String] = [:]
        for (key, value) in self.arguments {
            switch value {
            case .text(let text): settings[key] = text
            case .number: settings[key] = String(decoding: value.json, as: UTF8.self)
            case .flag(let flag): settings[key] = flag ? "on" : "off"
            case .list, .object: throw Self.failure("\(key) must be a text, a number, true or false")
            }
        }
        guard !settings.isEmpty else { throw Self.failure("no setting is named") }
        return settings
    }

    func flag(_ name: String) throws(CommandFailure) -> Bool {
        guard let value = self.arguments[name] else { return false }
        guard let flag = value.flag else { throw Self.failure("\(name) must be true or false") }
        return flag
    }

    /// Returns the handling of unsent points, by default `refuse`.
    func unsent() throws(CommandFailure) -> UnsentPoints {
        guard let text = try self.text("unsent") else { return .refuse }
        guard let unsent = UnsentPoints(rawValue: text) else {
            throw Self.failure("unsent must be refuse, clear or send")
        }
        return unsent
    }

    /// Returns the values of a set-up link.
    func setup() throws(CommandFailure) -> SetupRequest {
        let (broker, user) = (try self.text("broker"), try self.text("user"))
        let (token, trackable) = (try self.text("token"), try self.text("trackable"))
        do throws(TrackingError) {
            return try SetupRequest(broker: broker, user: user, token: token, trackable: trackable)
        } catch { throw CommandFailure(error) }
    }

    private func text(_ name: String) throws(CommandFailure) -> String? {
        guard let value = self.arguments[name] else { return nil }
        guard let text = value.text else { throw Self.failure("\(name) must be a string") }
        return text
    }

    private static func failure(_ message: String) -> CommandFailure { CommandFailure(.invalidArguments, message) }
}
