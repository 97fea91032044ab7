import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// What an agent is to do: what was given at its start, with what was changed since; a value that reads no clock and, once
/// made, no file.
struct AgentPlan {
    /// What was changed.
    let settings: AgentSettings
    /// The options in force.
    let run: Run
    /// The same as text.
    let options: OptionValues
    /// What is carried.
    let trackables: [Trackable]

    private let given: OptionValues
    private let givenCarried: [AgentSettings.Carried]
    private let givenLogin: AgentSettings.Login
    private let file: ConfigurationFile?

    /// Makes a plan of what was given and what was kept.
    ///
    /// - Throws: What the options' own rules say: `ValidationError`, `TrackingError`.
    init(given: OptionValues, kept: AgentSettings = AgentSettings()) throws {
        let run = try Run.parse(given.profiled.arguments)
        let file = try run.broker.configurationFile.map { try ConfigurationFile(path: $0) }
        let carried = try run.trackables.settings(file: file).map { id, settings in
            AgentSettings.Carried(id: id, destination: settings.destination)
        }
        let login = AgentSettings.Login(
            broker: Self.comparable(given["broker"], "broker") ?? [], passwordFile: given["password-file"]?.first,
            passwordCheck: (try? run.broker.login()?.password ?? "").map(AgentSettings.Login.check))
        var settings = kept
        settings.options = kept.options.filter { name, change in
            given.knows(name) && Self.comparable(given[name], name) == change.before
        }
        // A password goes to nobody but the broker and the user that it was given for.
        let isOther = kept.login?.isSame(as: login) == false
        if isOther || AgentSettings.loginOptions.contains(where: { kept.options[$0] != settings.options[$0] }) {
            settings.options = settings.options.filter { !AgentSettings.loginOptions.contains($0.key) }
            settings.login = nil
        }
        if kept.carrying?.before != carried { settings.carrying = nil }
        try self.init(given: given, carried: carried, login: login, file: file, settings: settings)
    }

    private init(
        given: OptionValues, carried: [AgentSettings.Carried], login: AgentSettings.Login, file: ConfigurationFile?,
        settings: AgentSettings
    ) throws {
        self.given = given
        self.givenCarried = carried
        self.givenLogin = login
        self.file = file
        var options = given
        for (name, change) in settings.options { options[name] = change.after }
        self.options = options.profiled
        self.settings = settings
        self.run = try Run.parse(self.options.arguments)
        let one = settings.carrying.flatMap { $0.after.count == 1 ? $0.after[0].id : nil }
        let own = try Dictionary(
            self.run.trackables.settings(file: file, one: one).map { ($0.0, $0.1) },
            uniquingKeysWith: { first, _ in first })
        let run = self.run
        let isChanged = settings != AgentSettings()
        self.trackables = try (settings.carrying?.after ?? carried).map { carried in
            // What was added while the agent ran has the settings that the options give.
            var settings = own[carried.id] ?? run.trackables.single
            settings.destination = carried.destination
            // Near is near something. What is given at a start without that is a mistake.
            if isChanged, carried.destination == nil { (settings.proximity, settings.arrival) = (nil, nil) }
            return try run.trackable(carried.id, settings)
        }
    }

    /// The same with other settings.
    ///
    /// - Throws: As ``init(given:kept:)``; then nothing of it is possible.
    func with(_ settings: AgentSettings) throws -> AgentPlan {
        try AgentPlan(
            given: self.given, carried: self.givenCarried, login: self.givenLogin, file: self.file, settings: settings)
    }

    /// The same, on or off.
    func switched(isOn: Bool) throws -> AgentPlan {
        var settings = self.settings
        settings.isOn = isOn
        return try self.with(settings)
    }

    // MARK: - What is carried

    /// What is carried, and where to.
    var carried: [AgentSettings.Carried] {
        self.trackables.map { AgentSettings.Carried(id: $0.id, destination: $0.destination) }
    }

    /// The same, with these carried.
    func carrying(_ carried: [AgentSettings.Carried]) throws -> AgentPlan {
        var settings = self.settings
        settings.carrying = carried == self.givenCarried ? nil : .init(before: self.givenCarried, after: carried)
        return try self.with(settings)
    }

    // MARK: - Options

    /// The same with these values of options; `nil` as if one were not given.
    func setting(_ values: [String: [String]?]) throws -> AgentPlan {
        var settings = self.settings
        for (name, values) in values {
            let before = Self.comparable(self.given[name], name)
            let after = values?.isEmpty == true ? nil : values
            settings.options[name] = after == self.given[name] ? nil : .init(before: before, after: after)
        }
        let isLoginChanged = settings.options.keys.contains(where: AgentSettings.loginOptions.contains)
        settings.login = isLoginChanged ? self.givenLogin : nil
        let next = try self.with(settings)
        let wantsNear = ["proximity", "arrival"].contains { (values[$0] ?? nil)?.isEmpty == false }
        guard !wantsNear || next.carried.contains(where: { $0.destination != nil }) else {
            throw ValidationError("proximity and arrival need a destination; set one first, or with them")
        }
        return next
    }

    /// What is remembered of what was given: no password that stands in an address.
    private static func comparable(_ values: [String]?, _ name: String) -> [String]? {
        name == "broker" ? values.map { $0.map { BrokerAddress($0).withoutPassword } } : values
    }
}

/// A broker's address as text, in parts.
struct BrokerAddress {
    /// `mqtts://`
    private let scheme: Substring
    private let userInfo: Substring?
    /// `host:port`
    private let place: Substring

    init(_ url: String) {
        let start = url.firstRange(of: "://").map(\.upperBound) ?? url.startIndex
        self.scheme = url[..<start]
        let rest = url[start...]
        let at = rest.lastIndex(of: "@")
        self.userInfo = at.map { rest[..<$0] }
        self.place = at.map { rest[rest.index(after: $0)...] } ?? rest
    }

    /// Scheme, host and port alone.
    var bare: String { "\(self.scheme)\(self.place)" }

    /// The user's name stays.
    var withoutPassword: String {
        guard let user = self.userInfo?.prefix(while: { $0 != ":" }) else { return self.bare }
        return "\(self.scheme)\(user)@\(self.place)"
    }

    /// The same place for this user, without a password.
    func of(user: String?) -> String {
        guard let user else { return self.bare }
        let encoded = user.utf8.map { byte -> String in
            let isPlain =
                byte < 0x80 && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber)
            return isPlain || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return "\(self.scheme)\(encoded.joined())@\(self.place)"
    }
}
