import TrackingCore

/// The changes of an agent's settings that commands made at run time. They survive a restart of the agent.
///
/// Each change contains the value that was given for the option at the start. If the agent is started with another
/// value later, the change is dropped, because the new value is the user's latest decision.
struct AgentSettings: Hashable, Sendable {
    /// A change of one option that a command made at run time.
    struct Change: Hashable, Sendable {
        /// The values of the option given at the agent's start; `nil` if the option was not given.
        var before: [String]?
        /// The values of the option after the change; `nil` if the change removed the option.
        var after: [String]?
    }

    /// A trackable that the agent tracks, with its destination.
    struct TrackedTrackable: Hashable, Sendable {
        var id: TrackableID
        var destination: Coordinate?
    }

    /// The difference between the trackables given at the agent's start and those that the agent tracks after commands
    /// changed them.
    struct TrackedChange: Hashable, Sendable {
        /// The trackables, with their destinations, that were given at the agent's start.
        var before: [TrackedTrackable]
        /// The trackables, with their destinations, that the agent tracks after commands changed the tracked
        /// trackables.
        var after: [TrackedTrackable]
    }

    /// The broker, the user and the password given at the agent's start. A password is valid only for its broker and
    /// user.
    struct Login: Hashable, Sendable {
        /// The broker's addresses (URLs), with users and without passwords.
        var broker: [String]
        var passwordFile: String?
        /// The command that prints the password; `nil` for none.
        var passwordCommand: String?
        /// 16 bits of a hash of the password. They show that a password changed, but do not help to find it. `nil` if
        /// the password could not be read.
        var passwordCheck: Int?

        /// Returns `true` if both logins have the same broker, user, password file, password command and password. A
        /// password that could not be read for one of the two logins counts as the same.
        func isSame(as other: Login) -> Bool {
            self.broker == other.broker && self.passwordFile == other.passwordFile
                && self.passwordCommand == other.passwordCommand
                && (self.passwordCheck ?? other.passwordCheck) == (other.passwordCheck ?? self.passwordCheck)
        }

        /// Returns 16 bits of a password's hash. Another value for a later password shows that the password has
        /// changed.
        static func check(of password: String) -> Int {
            let hash = password.utf8.reduce(into: UInt32(2_166_136_261)) { hash, byte in
                hash = (hash ^ UInt32(byte)) &* 16_777_619
            }
            return Int((hash >> 16) ^ (hash & 0xFFFF))
        }
    }

    /// The long names of the options for the login at the broker: its address with the user, and the password.
    static let loginOptions: Set<String> = ["broker", "password", "password-command", "password-file"]

    /// `true` while the agent is switched on: it reads positions and sends them.
    var isOn = true
    /// The change of the tracked trackables at run time; `nil` while the agent tracks the trackables given at its
    /// start.
    var tracked: TrackedChange?
    /// The run-time changes of the agent's options, by the long name of the option.
    var options: [String: Change] = [:]
    /// The broker, the user and the password given at the agent's start. They are stored only if a run-time change
    /// replaces one of ``loginOptions``; otherwise `nil`.
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
                "cannot save the changed settings: they exceed \(Self.maximumBytes) bytes. Track fewer trackables, or change fewer settings"
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
        members["passwordCommand"] = self.passwordCommand.map { .text($0) }
        members["passwordCheck"] = self.passwordCheck.map { .number(Double($0)) }
        return .object(members)
    }

    fileprivate init(_ value: JSONValue) {
        self.broker = value["broker"]?.list?.compactMap(\.text) ?? []
        self.passwordFile = value["passwordFile"]?.text
        self.passwordCommand = value["passwordCommand"]?.text
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
