import GodwitOptions
import TrackingControl
import TrackingCore

/// Which options can change while the agent runs, and who may change them.
enum LiveSettings {
    /// What comes into force at once.
    static let names: Set<String> = [
        "default-resolution", "sensor-resolution", "raw", "proximity", "arrival", "resolution", "resolution-far",
        "resolution-far-watched", "resolution-near", "resolution-near-watched", "battery-threshold",
        "low-battery-multiplier", "floor", "ceiling", "filter", "maximum-silence", "batch-size", "batch-window",
        "keep-points",
        "keep-bytes", "keep-days", "on-collision", "profile", "mode", "desired-accuracy", "minimum-distance",
        "minimum-time", "maximum-accuracy-radius", "significant-change", "activity", "pause", "pause-radius",
        "pause-after", "visits", "zone", "mock", "low-battery", "automatic-trips", "tracking-stats",
        "defer",
    ]

    /// What nobody may set through the broker: it names a program, a file, a device or a broker, is a secret, or says who may
    /// command and who is believed.
    static let local: Set<String> = [
        "broker", "password", "password-file", "client-id", "topic-root", "ca", "cert", "key", "config", "source",
        "battery", "spool", "socket", "metrics-file", "notify", "allow-commands", "acknowledge-by",
    ]

    /// What is told without values: it says where somebody does not want to be seen.
    static let untold: Set<String> = ["zone"]

    /// The new values of options, from texts as they would be on the command line; `destination` apart, which is a
    /// trackable's.
    ///
    /// - Throws: `notAllowed`, `invalidArguments`.
    static func values(
        _ settings: [String: String], of options: OptionValues, isFromAfar: Bool
    ) throws(CommandFailure) -> [String: [String]?] {
        var values: [String: [String]?] = [:]
        for (name, text) in settings.sorted(by: { $0.key < $1.key }) where name != "destination" {
            if isFromAfar, self.local.contains(name) {
                throw CommandFailure(.notAllowed, "\(name) is not taken from the broker")
            }
            do {
                let new = try options.values(of: name, in: text)
                guard self.names.contains(name) else {
                    throw CommandFailure(
                        .invalidArguments,
                        "\(name) needs a restart: set it where the agent is started, and start it again")
                }
                values[name] = .some(new.isEmpty ? nil : new)
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                throw CommandFailure(.invalidArguments, self.withoutUntold("\(error)", [name: [text]]))
            }
        }
        return values
    }

    /// A message about these values that repeats none of those that are told to nobody: it may go to the broker.
    static func withoutUntold(_ message: String, _ values: [String: [String]?]) -> String {
        let named = values.first { name, values in
            self.untold.contains(name) && (values ?? []).contains { message.contains($0) }
        }
        return named.map { "a value of \($0.key) is not of its form" } ?? message
    }

    /// A destination as on the command line, or `none`.
    ///
    /// - Throws: `invalidArguments`.
    static func destination(_ text: String) throws(CommandFailure) -> Coordinate? {
        if text == "none" || text.isEmpty { return nil }
        guard let place = Coordinate(argument: text) else {
            throw CommandFailure(.invalidArguments, "destination must be LAT,LON in degrees, or none")
        }
        return place
    }

    /// What is different in `new`, of these options; another writing of the same is not.
    static func changes(
        of names: some Collection<String>, from old: OptionValues, to new: OptionValues
    ) -> [SettingChange] {
        names.sorted().filter { self.meant(old, $0) != self.meant(new, $0) }.map { name in
            let isTold = !self.untold.contains(name)
            return SettingChange(
                key: name, before: isTold ? old[name]?.joined(separator: "\n") : nil,
                after: isTold ? new[name]?.joined(separator: "\n") : nil)
        }
    }

    /// The values of an option, each in the one writing where there are several.
    private static func meant(_ options: OptionValues, _ name: String) -> [String]? {
        options[name]?.map { text in
            if name == "mode" { return TrackingMode(argument: text)?.rawValue ?? text }
            return Resolution(argument: text)?.argumentText ?? text
        }
    }
}
