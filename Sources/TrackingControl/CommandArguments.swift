import TrackingCore

/// The arguments of a command, read by the type that each should have.
struct CommandArguments {
    private let arguments: [String: JSONValue]
    private let origin: ControlDispatcher.Origin

    init(_ arguments: [String: JSONValue], origin: ControlDispatcher.Origin) {
        self.arguments = arguments
        self.origin = origin
    }

    /// Whether the command came through the broker.
    var isFromAfar: Bool { self.origin != .socket }

    /// The trackable that is named, or whose topic the command came on.
    func trackable() throws(CommandFailure) -> TrackableID {
        guard let id = try self.trackableOrNone() else { throw Self.failure("trackable is missing") }
        return id
    }

    /// The trackable that is named, or whose topic the command came on; `nil` where there is neither.
    func trackableOrNone() throws(CommandFailure) -> TrackableID? {
        guard let text = try self.text("trackable") else {
            if case .topic(let id) = self.origin { return id }
            return nil
        }
        do throws(TrackingError) { return try TrackableID(text) } catch { throw CommandFailure(error) }
    }

    /// The trackable that is commanded, as ``trackableOrNone()``. Through the broker that is the one whose topic the command came
    /// on: who may command one may not command the others of its device.
    func commandedOrNone() throws(CommandFailure) -> TrackableID? {
        let id = try self.trackableOrNone()
        if case .topic(let own) = self.origin, let id, id != own { throw Self.notOwn("'\(id)'", own) }
        return id
    }

    /// The trackable that is commanded.
    func commanded() throws(CommandFailure) -> TrackableID {
        guard let id = try self.commandedOrNone() else { throw Self.failure("trackable is missing") }
        return id
    }

    /// Whether these may be given up for `next`: through the broker, none but the one whose topic the command came on.
    func mayGiveUp(_ carried: [TrackableID], for next: TrackableID) throws(CommandFailure) {
        guard case .topic(let own) = self.origin, carried.contains(where: { $0 != own && $0 != next }) else { return }
        throw Self.notOwn("what else the device carries", own)
    }

    private static func notOwn(_ what: String, _ own: TrackableID) -> CommandFailure {
        CommandFailure(.notAllowed, "\(what) is not commanded through '\(own)'")
    }

    /// `[longitude, latitude]` in degrees; `nil` where there is none.
    func destination() throws(CommandFailure) -> Coordinate? {
        guard let value = self.arguments["destination"] else { return nil }
        guard let place = value.list?.compactMap(\.number), place.count == 2, value.list?.count == 2,
            let coordinate = Coordinate(latitude: place[1], longitude: place[0])
        else { throw Self.failure("destination must be [longitude, latitude] in degrees") }
        return coordinate
    }

    /// How one travels: 1 to 64 bytes.
    func tripMode() throws(CommandFailure) -> String? {
        guard let mode = try self.text("mode") else { return nil }
        guard (1...64).contains(mode.utf8.count) else { throw Self.failure("mode must have 1 to 64 bytes") }
        return mode
    }

    /// How many at the most: 1 to 200, 50 where nothing is said.
    func limit() throws(CommandFailure) -> Int {
        guard let value = self.arguments["limit"] else { return 50 }
        guard let limit = value.count, (1...200).contains(limit) else { throw Self.failure("limit must be 1 to 200") }
        return limit
    }

    /// The records that are named as `STREAM:SEQ`; `nil` for all.
    func records() throws(CommandFailure) -> [RecordName]? {
        guard let value = self.arguments["records"] else { return nil }
        let names = value.list?.compactMap { $0.text.flatMap { RecordName($0) } }
        guard let names, names.count == value.list?.count else {
            throw Self.failure("records must be a list of 'stream:seq'")
        }
        return names
    }

    /// The settings of a CONFIGURE, each written as on the command line.
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

    /// What becomes of unsent points: `refuse` where nothing is said.
    func unsent() throws(CommandFailure) -> UnsentPoints {
        guard let text = try self.text("unsent") else { return .refuse }
        guard let unsent = UnsentPoints(rawValue: text) else {
            throw Self.failure("unsent must be refuse, clear or send")
        }
        return unsent
    }

    /// A set-up link in parts.
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
