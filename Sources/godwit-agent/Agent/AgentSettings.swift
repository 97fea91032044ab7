import TrackingCore

/// What was changed while the agent ran, and lasts over a restart.
///
/// Each change remembers what it took the place of: where that is given otherwise at a later start, whoever did so means it,
/// and the change is forgotten.
struct AgentSettings: Hashable, Sendable {
    /// One option.
    struct Change: Hashable, Sendable {
        /// What was given at the start; `nil` where it was not.
        var before: [String]?
        /// What counts in its place; `nil`: as if it were not given.
        var after: [String]?
    }

    /// One trackable.
    struct Carried: Hashable, Sendable {
        var id: TrackableID
        var destination: Coordinate?
    }

    /// Everything that is carried.
    struct Carrying: Hashable, Sendable {
        /// What was given at the start.
        var before: [Carried]
        /// What is carried in its place.
        var after: [Carried]
    }

    /// What was given of broker, user and password, which belong together.
    struct Login: Hashable, Sendable {
        /// Addresses without passwords.
        var broker: [String]
        var passwordFile: String?
        /// 16 bits of the password: enough to see that another one is given, too few to learn it. `nil`: it cannot be read.
        var passwordCheck: Int?

        /// Whether it is the same; a password that cannot be read now, or could not be then, is none that is given anew.
        func isSame(as other: Login) -> Bool {
            self.broker == other.broker && self.passwordFile == other.passwordFile
                && (self.passwordCheck ?? other.passwordCheck) == (other.passwordCheck ?? self.passwordCheck)
        }

        /// The check of a password.
        static func check(of password: String) -> Int {
            let hash = password.utf8.reduce(into: UInt32(2_166_136_261)) { hash, byte in
                hash = (hash ^ UInt32(byte)) &* 16_777_619
            }
            return Int((hash >> 16) ^ (hash & 0xFFFF))
        }
    }

    /// The options that say who the agent is to which broker.
    static let loginOptions: Set<String> = ["broker", "password", "password-file"]

    /// Whether the agent samples and sends.
    var isOn = true
    /// What is carried in place of what was given; `nil`: that.
    var carrying: Carrying?
    /// Options by their long names.
    var options: [String: Change] = [:]
    /// What was given in the place of ``loginOptions``; `nil` where none of them was changed.
    var login: Login?
}

// MARK: - As a file

extension AgentSettings {
    /// The most bytes of a file.
    static let maximumBytes = WireLimits.maximumPayloadBytes

    /// The settings as JSON.
    ///
    /// - Throws: `payloadTooLarge`.
    func encoded() throws(TrackingError) -> [UInt8] {
        var members: [String: JSONValue] = ["version": .number(1), "on": .flag(self.isOn)]
        members["options"] = .object(
            self.options.mapValues { change in
                var members: [String: JSONValue] = [:]
                members["before"] = change.before.map { .list($0.map { .text($0) }) }
                members["after"] = change.after.map { .list($0.map { .text($0) }) }
                return .object(members)
            })
        members["login"] = self.login.map(\.json)
        members["carried"] = self.carrying.map { carried in
            .object(["before": .list(carried.before.map(\.json)), "after": .list(carried.after.map(\.json))])
        }
        let bytes = JSONValue.object(members).json
        guard bytes.count <= Self.maximumBytes else {
            throw TrackingError(.payloadTooLarge, "more is carried than the agent can remember; carry less")
        }
        return bytes
    }

    /// Reads settings.
    ///
    /// - Throws: `invalidPayload`, `payloadTooLarge`.
    init(_ bytes: some Collection<UInt8>) throws(TrackingError) {
        let members = try JSONValue(json: bytes)
        guard members["version"]?.count == 1, let isOn = members["on"]?.flag,
            let options = members["options"]?.object
        else { throw TrackingError(.invalidPayload, "these are no settings of an agent of this version") }
        self.isOn = isOn
        self.options = options.mapValues { change in
            Change(
                before: change["before"]?.list?.compactMap(\.text), after: change["after"]?.list?.compactMap(\.text))
        }
        self.login = members["login"].map { Login($0) }
        if let carried = members["carried"], let before = carried["before"]?.list, let after = carried["after"]?.list {
            self.carrying = Carrying(
                before: before.compactMap { Carried($0) }, after: after.compactMap { Carried($0) })
        }
    }
}

extension AgentSettings.Login {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["broker": .list(self.broker.map { .text($0) })]
        members["passwordFile"] = self.passwordFile.map { .text($0) }
        members["passwordCheck"] = self.passwordCheck.map { .number(Double($0)) }
        return .object(members)
    }

    fileprivate init(_ value: JSONValue) {
        self.broker = value["broker"]?.list?.compactMap(\.text) ?? []
        self.passwordFile = value["passwordFile"]?.text
        self.passwordCheck = value["passwordCheck"]?.count
    }
}

extension AgentSettings.Carried {
    fileprivate var json: JSONValue {
        var members: [String: JSONValue] = ["id": .text(self.id.rawValue)]
        members["destination"] = self.destination?.json
        return .object(members)
    }

    fileprivate init?(_ value: JSONValue) {
        guard let id = value["id"]?.text.flatMap({ try? TrackableID($0) }) else { return nil }
        self.id = id
        if let place = value["destination"]?.list?.compactMap(\.number), place.count == 2 {
            self.destination = Coordinate(latitude: place[1], longitude: place[0])
        }
    }
}
