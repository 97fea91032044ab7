import FoundationEssentials

/// The configuration file that a program reads when neither `--config` nor `GODWIT_CONFIG` names one: `godwit.yaml` of
/// the program `godwit`, `agent.yaml` of `godwit-agent`.
enum DefaultConfigurationFile {
    /// Returns the path of the first of the ``places(of:_:)`` at which there is a configuration file; `nil` if there is
    /// none.
    ///
    /// - Parameters:
    ///   - program: The name of the program.
    ///   - environment: The environment of the program.
    ///   - isThere: Returns `true` if there is a file at a path.
    static func path(
        of program: String, _ environment: [String: String],
        isThere: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> String? {
        self.places(of: program, environment).first(where: isThere)
    }

    /// Returns the paths at which the default configuration file of a program may be: first in the user's folder for
    /// configuration files (`$XDG_CONFIG_HOME`, else `~/.config`), then in `/etc/godwit`.
    static func places(of program: String, _ environment: [String: String]) -> [String] {
        let prefix = "godwit-"
        let name = program.hasPrefix(prefix) ? String(program.dropFirst(prefix.count)) : program
        func folder(_ variable: String) -> String? { environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let own = folder("XDG_CONFIG_HOME") ?? folder("HOME").map { "\($0)/.config" }
        return [own.map { "\($0)/godwit/\(name).yaml" }, "/etc/godwit/\(name).yaml"].compactMap(\.self)
    }
}
