import GodwitOptions
import TrackingControl
import TrackingCore

/// The rules for changing an agent's options while it runs.
enum LiveSettings {
    /// The long names of the options that the command CONFIGURE can change while the agent runs. Their changes take
    /// effect at once.
    static let names: Set<String> = [
        "default-resolution", "sensor-resolution", "raw", "predict", "proximity", "arrival", "resolution",
        "resolution-far", "resolution-far-watched", "resolution-near", "resolution-near-watched", "battery-threshold",
        "low-battery-multiplier", "floor", "ceiling", "filter", "maximum-silence", "metadata", "batch-size",
        "batch-window", "keep-points",
        "keep-bytes", "keep-days", "on-collision", "profile", "mode", "desired-accuracy", "minimum-distance",
        "minimum-time", "maximum-accuracy-radius", "significant-change", "activity", "pause", "pause-radius",
        "pause-after", "visits", "zone", "mock", "low-battery", "automatic-trips", "tracking-stats",
        "defer",
    ]

    /// The long names of the options that a command received through the broker cannot set. They name a program, a
    /// file, a device or a broker, contain a secret, or decide who may send commands, whose acknowledgements count, and
    /// if the destination is published.
    static let local: Set<String> = [
        "broker", "password", "password-command", "password-file", "client-id", "topic-root", "ca", "cert", "key",
        "subscription-qos", "config", "source",
        "battery", "spool", "socket", "metrics-file", "notify", "allow-commands", "acknowledge-by", "send-resolution",
        "forward", "token-file", "secret-file",
    ]

    /// The long names of the options whose values are never reported, because they reveal private places.
    static let redactedNames: Set<String> = ["zone"]

    /// Parses new values of options, written as on the command line. A setting `destination` is ignored here, because
    /// it belongs to a trackable and not to the agent.
    ///
    /// - Parameters:
    ///   - settings: The new values as text, by the option's long name. An empty text removes the option.
    ///   - options: The options in force.
    ///   - isFromAfar: `true` for a command that arrived through the broker.
    /// - Throws: `notAllowed` for an option that a command through the broker may not set; `invalidArguments` for an
    ///   unknown option, an invalid value, and an option that cannot change while the agent runs.
    static func values(
        _ settings: [String: String], of options: OptionValues, isFromAfar: Bool
    ) throws(CommandFailure) -> [String: [String]?] {
        var values: [String: [String]?] = [:]
        for (name, text) in settings.sorted(by: { $0.key < $1.key }) where name != "destination" {
            if isFromAfar, self.local.contains(name) {
                throw CommandFailure(
                    .notAllowed,
                    "the setting '\(name)' cannot be set through the broker. Set it with godwit-agent on the device")
            }
            do {
                let new = try options.values(of: name, in: text)
                guard self.names.contains(name) else {
                    throw CommandFailure(
                        .invalidArguments,
                        "the setting '\(name)' cannot change while the agent runs. Set it where the agent is started, and restart the agent"
                    )
                }
                values[name] = .some(new.isEmpty ? nil : new)
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                throw CommandFailure(.invalidArguments, self.redacted("\(error)", [name: [text]]))
            }
        }
        return values
    }

    /// Returns an error message without private values. If the message contains the value of a private option, such as
    /// a privacy zone, a general message replaces it.
    static func redacted(_ message: String, _ values: [String: [String]?]) -> String {
        let named = values.first { name, values in
            self.redactedNames.contains(name) && (values ?? []).contains { message.contains($0) }
        }
        return named.map {
            "a value of the setting '\($0.key)' has the wrong form. See --\($0.key) in godwit-agent run --help"
        }
            ?? message
    }

    /// Parses a destination, `LAT,LON` in degrees; returns `nil` for `none` and for an empty text.
    ///
    /// - Throws: `invalidArguments` for any other text.
    static func destination(_ text: String) throws(CommandFailure) -> Coordinate? {
        if text == "none" || text.isEmpty { return nil }
        guard let place = Coordinate(argument: text) else {
            throw CommandFailure(.invalidArguments, "the setting 'destination' must be LAT,LON in degrees, or none")
        }
        return place
    }

    /// Returns the changes of settings between the options `old` and `new`. Only the options in `names` whose values
    /// differ are included. Two spellings of the same value count as equal.
    static func changes(
        of names: some Collection<String>, from old: OptionValues, to new: OptionValues
    ) -> [SettingChange] {
        names.sorted().filter { self.meant(old, $0) != self.meant(new, $0) }.map { name in
            let isShown = !self.redactedNames.contains(name)
            return SettingChange(
                key: name, before: isShown ? old[name]?.joined(separator: "\n") : nil,
                after: isShown ? new[name]?.joined(separator: "\n") : nil)
        }
    }

    /// Returns the values of an option in one standard spelling, so that different spellings of the same value are
    /// equal.
    private static func meant(_ options: OptionValues, _ name: String) -> [String]? {
        options[name]?.map { text in
            if name == "mode" { return TrackingMode(argument: text)?.rawValue ?? text }
            return Resolution(argument: text)?.argumentText ?? text
        }
    }
}
