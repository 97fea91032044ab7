import TrackingCore

/// A command for a phone, translated to the forms of the apps that support it.
struct PhoneCommand: Hashable, Sendable {
    /// The command as an OwnTracks message, or the reason why OwnTracks does not support it.
    let ownTracks: Result<JSONValue, CommandFailure>
    /// The command as settings of Overland (the member `set` of an answer), or the reason why Overland does not support
    /// it.
    let overland: Result<[String: JSONValue], CommandFailure>

    /// Translates a command for the phone of a trackable.
    ///
    /// - Throws: `CommandFailure` if no app supports the command with these arguments, or its argument `trackable`
    ///   names another trackable.
    init(_ command: Command, for id: TrackableID) throws(CommandFailure) {
        var arguments = command.arguments
        if let named = arguments.removeValue(forKey: "trackable"), named.text != id.rawValue {
            throw CommandFailure(
                .notAllowed,
                "cannot carry out the command: its argument trackable names another trackable than its topic; leave the argument out"
            )
        }
        switch command.name {
        case .report:
            self.ownTracks = .success(.object(["_type": .text("cmd"), "action": .text("reportLocation")]))
            self.overland = .failure(
                CommandFailure(.unknownCommand, "the app Overland does not support the command REPORT"))
        case .configure:
            self.ownTracks = Result { () throws(CommandFailure) in try OwnTracksSettings.message(arguments) }
            self.overland = Result { () throws(CommandFailure) in try OverlandSettings.set(arguments) }
        default:
            throw CommandFailure(.unknownCommand, "a phone supports only the commands REPORT and CONFIGURE")
        }
        guard case .failure(let first) = self.ownTracks, case .failure(let second) = self.overland else { return }
        throw CommandFailure(first.code, "no phone app supports this command: \(first.message); \(second.message)")
    }
}

extension JSONValue {
    /// The value of a setting in a command CONFIGURE for a phone, as the text that a command-line option would have;
    /// `nil` for a list or an object.
    fileprivate var settingText: String? {
        switch self {
        case .text(let text): text
        case .number(let number): Int(exactly: number).map { String($0) } ?? String(number)
        case .flag(let flag): flag ? "true" : "false"
        case .list, .object: nil
        }
    }
}

/// The settings of OwnTracks that a command CONFIGURE can change. The app applies them if its user allows remote
/// configuration.
enum OwnTracksSettings {
    private static let names = ["minimum-distance": "locatorDisplacement", "minimum-time": "locatorInterval"]

    /// Returns the OwnTracks message `cmd` that changes settings.
    ///
    /// - Parameter arguments: The new values, by the name of the setting.
    /// - Throws: `CommandFailure` for an unknown setting or an invalid value, or if no setting is given.
    static func message(_ arguments: [String: JSONValue]) throws(CommandFailure) -> JSONValue {
        guard !arguments.isEmpty else {
            throw CommandFailure(.invalidArguments, "the command CONFIGURE names no setting. Name at least one")
        }
        var configuration: [String: JSONValue] = ["_type": .text("configuration")]
        for (name, value) in arguments.sorted(by: { $0.key < $1.key }) {
            guard let theirs = self.names[name] else {
                throw CommandFailure(
                    .invalidArguments,
                    "OwnTracks has no setting '\(name.prefix(40))'; its settings are \(self.names.keys.sorted().joined(separator: ", "))"
                )
            }
            guard let number = value.settingText.flatMap({ Int($0) }), (0...1_000_000).contains(number) else {
                throw CommandFailure(
                    .invalidArguments, "the setting \(name) of OwnTracks must be a whole number from 0 to 1000000")
            }
            configuration[theirs] = .number(Double(number))
        }
        return .object([
            "_type": .text("cmd"), "action": .text("setConfiguration"), "configuration": .object(configuration),
        ])
    }
}

/// The settings of Overland that a command CONFIGURE can change. The command uses the names and values of the options
/// of `godwit-agent`. This type translates them to the app's names and values.
enum OverlandSettings {
    private struct Setting {
        let name: String
        /// `true` if Overland expects the setting in the object `main`, which applies outside of trips.
        var isMain = true
        let values: [String: JSONValue]
    }

    private static let switches: [String: JSONValue] = [
        "on": .flag(true), "true": .flag(true), "off": .flag(false), "false": .flag(false),
    ]

    private static func words(_ words: [String: String]) -> [String: JSONValue] { words.mapValues { .text($0) } }

    // The app accepts only these values. The value "off" is omitted: as send_interval it makes the app send every
    // position.
    private static let settings: [String: Setting] = [
        "batch-window": Setting(
            name: "send_interval", isMain: false,
            values: words([
                "1": "1s", "5": "5s", "10": "10s", "15": "15s", "30": "30s", "60": "1m", "120": "2m", "300": "5m",
                "600": "10m", "1800": "30m",
            ])),
        "minimum-distance": Setting(
            name: "min_distance",
            values: words(["0": "off", "1": "1m", "10": "10m", "50": "50m", "100": "100m", "500": "500m"])),
        "minimum-time": Setting(
            name: "min_time",
            values: words(["0": "1s", "1": "1s", "5": "5s", "10": "10s", "30": "30s", "60": "1m", "300": "5m"])),
        "desired-accuracy": Setting(
            name: "desired_accuracy",
            values: words(["best": "best", "10": "10m", "100": "100m", "1000": "1km", "3000": "3km"])),
        "activity": Setting(
            name: "activity_type",
            values: words([
                "other": "other", "automotive": "car", "fitness": "fitness", "other-navigation": "nav",
                "airborne": "air",
            ])),
        "pause": Setting(name: "pause_automatically", values: switches),
        "pause-radius": Setting(
            name: "resume_with_geofence",
            values: words(["100": "100m", "200": "200m", "500": "500m", "1000": "1km", "2000": "2km"])),
        "visits": Setting(name: "visit_tracking", values: switches),
        "significant-change": Setting(
            name: "tracking_mode", values: words(["off": "standard", "only": "significant", "500": "both"])),
    ]

    /// Returns the member `set` of an answer to Overland that changes settings.
    ///
    /// - Parameter arguments: The new values, by the name of the setting.
    /// - Throws: `CommandFailure` for an unknown setting or an invalid value, or if no setting is given.
    static func set(_ arguments: [String: JSONValue]) throws(CommandFailure) -> [String: JSONValue] {
        guard !arguments.isEmpty else {
            throw CommandFailure(.invalidArguments, "the command CONFIGURE names no setting. Name at least one")
        }
        var set: [String: JSONValue] = [:]
        var main: [String: JSONValue] = [:]
        for (name, value) in arguments.sorted(by: { $0.key < $1.key }) {
            guard let setting = self.settings[name] else {
                let known = self.settings.keys.sorted().joined(separator: ", ")
                throw CommandFailure(
                    .invalidArguments, "Overland has no setting '\(name.prefix(40))'; its settings are \(known)")
            }
            guard let word = value.settingText.flatMap({ setting.values[$0] }) else {
                let known = setting.values.keys.sorted().joined(separator: ", ")
                throw CommandFailure(.invalidArguments, "the setting \(name) of Overland must be one of \(known)")
            }
            if setting.isMain { main[setting.name] = word } else { set[setting.name] = word }
        }
        if !main.isEmpty { set["main"] = .object(main) }
        return set
    }
}
