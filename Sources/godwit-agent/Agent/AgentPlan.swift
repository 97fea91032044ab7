import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// A plan: all settings that an agent follows. They are the options given at its start, together with the changes made
/// at run time. A plan does not change; a change of settings makes a new plan.
struct AgentPlan {
    /// The changes of settings that were made at run time. The settings file stores them.
    let settings: AgentSettings
    /// The options in force of `godwit-agent run`, parsed: those given at the start, with the changes made at run time.
    let run: Run
    /// The options in force of `godwit-agent run` as text, by their long names: those given at the start, with the
    /// changes made at run time.
    let options: OptionValues
    /// The trackables that the agent tracks, each with the settings with which its publisher tracks it.
    let trackables: [Trackable]

    private let given: OptionValues
    private let givenTracked: [AgentSettings.TrackedTrackable]
    private let givenLogin: AgentSettings.Login
    private let file: ConfigurationFile?

    /// Makes the plan from the options given at this start and the run-time changes kept from earlier runs. A kept
    /// change is dropped if its option is now given with another value than before the change, or is not known any
    /// more. Kept changes of the broker, the user and the password are dropped together.
    ///
    /// - Throws: `ValidationError` or `TrackingError` that names the broken rule.
    init(given: OptionValues, kept: AgentSettings = AgentSettings()) throws {
        let run = try Run.parse(given.profiled.arguments)
        let file = try run.broker.configurationFile.map { try ConfigurationFile(path: $0) }
        let tracked = try run.trackables.settings(file: file).map { id, settings in
            AgentSettings.TrackedTrackable(id: id, destination: settings.destination)
        }
        let login = AgentSettings.Login(
            broker: Self.comparable(given["broker"], "broker") ?? [], passwordFile: given["password-file"]?.first,
            passwordCommand: given["password-command"]?.first,
            passwordCheck: (try? run.broker.login()?.password ?? "").map(AgentSettings.Login.check))
        var settings = kept
        settings.options = kept.options.filter { name, change in
            given.knows(name) && Self.comparable(given[name], name) == change.before
        }
        // A password belongs to the broker and the user for which it was given, and is never sent to others.
        let isOther = kept.login?.isSame(as: login) == false
        if isOther || AgentSettings.loginOptions.contains(where: { kept.options[$0] != settings.options[$0] }) {
            settings.options = settings.options.filter { !AgentSettings.loginOptions.contains($0.key) }
            settings.login = nil
        }
        if kept.tracked?.before != tracked { settings.tracked = nil }
        try self.init(given: given, tracked: tracked, login: login, file: file, settings: settings)
    }

    private init(
        given: OptionValues, tracked: [AgentSettings.TrackedTrackable], login: AgentSettings.Login,
        file: ConfigurationFile?,
        settings: AgentSettings
    ) throws {
        self.given = given
        self.givenTracked = tracked
        self.givenLogin = login
        self.file = file
        var options = given
        for (name, change) in settings.options { options[name] = change.after }
        self.options = options.profiled
        self.settings = settings
        self.run = try Run.parse(self.options.arguments)
        let one = settings.tracked.flatMap { $0.after.count == 1 ? $0.after[0].id : nil }
        let own = try Dictionary(
            self.run.trackables.settings(file: file, one: one).map { ($0.0, $0.1) },
            uniquingKeysWith: { first, _ in first })
        let run = self.run
        let isChanged = settings != AgentSettings()
        self.trackables = try (settings.tracked?.after ?? tracked).map { tracked in
            // A trackable added at run time has the settings that the options give.
            var settings = own[tracked.id] ?? run.trackables.single
            settings.destination = tracked.destination
            // Without a destination, this setting has no effect. At a start it is an error.
            if isChanged, tracked.destination == nil { settings.proximity = nil }
            return try run.trackable(tracked.id, settings)
        }
        try run.checkSources(of: self.trackables)
    }

    /// Returns a plan with the same options given at the agent's start, and with these run-time changes in place of its
    /// present ones.
    ///
    /// - Throws: The errors of ``init(given:kept:)``.
    func with(_ settings: AgentSettings) throws -> AgentPlan {
        try AgentPlan(
            given: self.given, tracked: self.givenTracked, login: self.givenLogin, file: self.file, settings: settings)
    }

    /// Returns the same plan with the agent switched on or off.
    func switched(isOn: Bool) throws -> AgentPlan {
        var settings = self.settings
        settings.isOn = isOn
        return try self.with(settings)
    }

    // MARK: - Tracked trackables

    /// The trackables that the agent tracks, with their destinations.
    var tracked: [AgentSettings.TrackedTrackable] {
        self.trackables.map { AgentSettings.TrackedTrackable(id: $0.id, destination: $0.destination) }
    }

    /// Returns a plan in which the agent tracks exactly these trackables, with these destinations, and no others.
    func tracking(_ tracked: [AgentSettings.TrackedTrackable]) throws -> AgentPlan {
        var settings = self.settings
        settings.tracked = tracked == self.givenTracked ? nil : .init(before: self.givenTracked, after: tracked)
        return try self.with(settings)
    }

    // MARK: - Options

    /// Returns a plan with new values for some options. The keys are the long names of the options; `nil` removes an
    /// option.
    ///
    /// - Throws: `ValidationError` or `TrackingError` that names the broken rule.
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
        let wantsNear = (values["proximity"] ?? nil)?.isEmpty == false
        guard !wantsNear || next.tracked.contains(where: { $0.destination != nil }) else {
            throw ValidationError(
                "the setting proximity needs a destination. Set the destination first, or in the same command"
            )
        }
        return next
    }

    /// Returns an option's values in the form in which run-time changes store them: broker addresses without their
    /// passwords.
    private static func comparable(_ values: [String]?, _ name: String) -> [String]? {
        name == "broker" ? values.map { $0.map { BrokerAddress($0).withoutPassword } } : values
    }
}

/// The URL of a broker, divided into its scheme, its user with the password, and the rest.
struct BrokerAddress {
    /// The scheme of the broker's URL with its separator, such as `mqtts://`; empty for a URL without a scheme.
    private let scheme: Substring
    private let userInfo: Substring?
    /// The rest of the URL after the user and password, for example `host:port`.
    private let place: Substring

    init(_ url: String) {
        let start = url.firstRange(of: "://").map(\.upperBound) ?? url.startIndex
        self.scheme = url[..<start]
        let rest = url[start...]
        let at = rest.lastIndex(of: "@")
        self.userInfo = at.map { rest[..<$0] }
        self.place = at.map { rest[rest.index(after: $0)...] } ?? rest
    }

    /// The broker's URL without user and password.
    var bare: String { "\(self.scheme)\(self.place)" }

    /// The broker's URL with the user and without the password.
    var withoutPassword: String {
        guard let user = self.userInfo?.prefix(while: { $0 != ":" }) else { return self.bare }
        return "\(self.scheme)\(user)@\(self.place)"
    }

    /// Returns the URL with the given user instead of its own, and without a password. The user is percent-encoded.
    /// `nil` makes a URL without a user.
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
