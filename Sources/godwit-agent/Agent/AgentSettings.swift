import TrackingCore

/// The changes of an agent's settings that commands made at run time. They survive a restart.
///
/// Each change contains the value that the option had when the agent was started. If the agent is started with another
/// value later, the change is dropped, because the new value is the user's latest decision.
struct AgentSettings: Hashable, Sendable {
    /// The run-time change of one option.
    struct Change: Hashable, Sendable {
        /// The values of the option with which the agent was started; `nil` if the agent was started without the
        /// option.
        var before: [String]?
        /// The values of the option since the run-time change; `nil` if the change removed the option.
        var after: [String]?
    }

    /// A tracked trackable with its destination.
    struct TrackedTrackable: Hashable, Sendable {
        var id: TrackableID
        var destination: Coordinate?
    }

    /// The run-time change of the set of tracked trackables.
    struct TrackedChange: Hashable, Sendable {
        /// The trackables with which the agent was started.
        var before: [TrackedTrackable]
        /// The trackables that are tracked now.
        var after: [TrackedTrackable]
    }

    /// The broker, the user and the password with which the agent was started, which belong together.
    struct Login: Hashable, Sendable {
        /// The broker's addresses, with users and without passwords.
        var broker: [String]
        var passwordFile: String?
        /// 16 bits of a hash of the password: enough to recognise another password, too few to find the password. `nil`
        /// if the password could not be read.
        var passwordCheck: Int?

        /// Returns `true` if broker, user and password are the same. A password that could not be read, then or now,
        /// counts as the same.
        func isSame(as other: Login) -> Bool {
            self.broker == other.broker && self.passwordFile == other.passwordFile
                && (self.passwordCheck ?? other.passwordCheck) == (other.passwordCheck ?? self.passwordCheck)
        }

        /// Returns 16 bits of a hash of a password.
        static func check(of password: String) -> Int {
            let hash = password.utf8.reduce(into: UInt32(2_166_136_261)) { hash, byte in
                hash = (hash ^ UInt32(byte)) &* 16_777_619
            }
            return Int((hash >> 16) ^ (hash & 0xFFFF))
        }
    }

    /// The long names of the options that make up a login: broker, user and password.
    static let loginOptions: Set<String> = ["broker", "password", "password-file"]

    /// `true` while the agent samples and sends.
    var isOn = true
    /// The run-time change of the tracked trackables; `nil` while the agent tracks those with which it was started.
    var tracked: TrackedChange?
    /// The run-time changes of options, by the long name of the option.
    var options: [String: Change] = [:]
    /// The login with which the agent was started, if a run-time change concerns one of ``loginOptions``; otherwise
    /// `nil`.
    var login: Login?
}

// MARK: - As a file

extension AgentSettings {
    /// The largest size of the settings file in bytes.
    static let maximumBytes = WireLimits.maximumPayloadBytes

    /// Returns the run-time changes as JSON for the settings file.
    ///
    /// - Throws: `payloadTooLarge` above ``maximumBytes``.
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
        members["carried"] = self.tracked.map { tracked in
            .object(["before": .list(tracked.before.map(\.json)), "after": .list(tracked.after.map(\.json))])
        }
        let bytes = JSONValue.object(members).json
        guard bytes.count <= Self.maximumBytes else {
            throw TrackingError(
                .payloadTooLarge,
                "cannot keep the changed settings: they have more than \(Self.maximumBytes) bytes. Track fewer trackables, or change fewer options"
            )
        }
        return bytes
    }

    /// Parses the JSON of a settings file.
    ///
    /// - Throws: `invalidPayload` for anything but a settings file of version 1; `payloadTooLarge` above 128 KiB.
    init(_ bytes: some Collection<UInt8>) throws(TrackingError) {
        let members = try JSONValue(json: bytes)
        guard members["version"]?.count == 1, let isOn = members["on"]?.flag,
            let options = members["options"]?.object
        else {
            throw TrackingError(.invalidPayload, "the file is not a settings file (version 1) of godwit-agent")
        }
        self.isOn = isOn
        self.options = options.mapValues { change in
            Change(
                before: change["before"]?.list?.compactMap(\.text), after: change["after"]?.list?.compactMap(\.text))
        }
        self.login = members["login"].map { Login($0) }
        if let tracked = members["carried"], let before = tracked["before"]?.list, let after = tracked["after"]?.list {
            self.tracked = TrackedChange(
                before: before.compactMap { TrackedTrackable($0) }, after: after.compactMap { TrackedTrackable($0) })
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

extension AgentSettings.TrackedTrackable {
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
