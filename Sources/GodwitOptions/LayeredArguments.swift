public import ArgumentParser
import FoundationEssentials

/// Merges the values of options from four sources. For each option, the command line wins over the environment, the
/// environment over the YAML file, and the file over the ``Profile`` named by `--profile`. Without `--config`, the file
/// is that of ``DefaultConfigurationFile``, if it exists.
///
/// Each option is defined once, as an option of the command line. Values from the environment (`GODWIT_BROKER` for
/// `--broker`) and the file (`broker:`) are inserted before the command's own arguments. So one parser reads and checks
/// all of them.
public enum LayeredArguments {
    /// One option that a command accepts on its command line.
    struct Option: Hashable, Sendable {
        var name: String
        var isFlag: Bool
        var isRepeating: Bool
        /// `true` for an option that may be given with or without a value.
        var isValueOptional = false
    }

    /// Returns the arguments of the command line, completed with options from the environment, the configuration file
    /// and the profile.
    ///
    /// - Throws: `ValidationError` for an unknown key, a value of the wrong form, an argument `--option=` without a
    ///   value, or a file that is not a YAML mapping; ``ConfigurationFileError`` for a file that cannot be read or is
    ///   not UTF-8.
    public static func merge(
        _ arguments: [String], environment: [String: String], for root: any ParsableCommand.Type
    ) throws -> [String] {
        try self.merge(arguments, environment: environment, for: root, withProfile: true)
    }

    /// Returns the values that the command line, the environment and the configuration file give to the options of a
    /// command. Values of the profile are left out.
    ///
    /// - Throws: The errors of ``merge(_:environment:for:)``.
    public static func values(
        _ arguments: [String], environment: [String: String], for root: any ParsableCommand.Type
    ) throws -> OptionValues {
        let (command, words) = self.command(arguments, root)
        let merged = try self.merge(arguments, environment: environment, for: root, withProfile: false)
        return OptionValues(Array(merged.dropFirst(words)), of: try self.options(of: command))
    }

    private static func merge(
        _ arguments: [String], environment: [String: String], for root: any ParsableCommand.Type, withProfile: Bool
    ) throws -> [String] {
        let (command, words) = self.command(arguments, root)
        let options = try self.options(of: command)
        let own = Array(arguments.dropFirst(words))
        try self.checkValues(own, options)
        var added: [String] = []
        let given = Set(own.prefix { $0 != "--" }.compactMap(self.name))
        let settings = try self.settings(own, environment, command, options, root)
        let takesProfile = withProfile && options.contains { $0.name == "profile" }
        let profile = takesProfile ? self.profile(own, environment, settings) : nil
        let isGiven = { (name: String) in given.contains(name) || self.value(of: name, in: environment) != nil }
        for option in options where !given.contains(option.name) && option.name != "config" {
            if let value = self.value(of: option.name, in: environment) {
                added += try self.arguments(option, environment: value)
            } else if let settings, let entry = settings.entry(of: option.name, isGiven: isGiven) {
                added += try self.arguments(option, setting: entry, in: settings.file)
            } else if let value = profile?.value(of: option.name) {
                added += try self.arguments(option, environment: value)
            }
        }
        if let settings, settings.isDefault { added.append("--config=\(settings.file.path)") }
        return Array(arguments.prefix(words)) + added + own
    }

    /// Returns the settings of the configuration file that the command line or the environment names, or else of the
    /// program's default file. Returns `nil` without a file, and for a command without `--config`: the file may be for
    /// other commands.
    private static func settings(
        _ own: [String], _ environment: [String: String], _ command: any ParsableCommand.Type, _ options: [Option],
        _ root: any ParsableCommand.Type
    ) throws -> FileSettings? {
        guard options.contains(where: { $0.name == "config" }) else { return nil }
        let named = self.file(own, environment)
        guard let path = named ?? DefaultConfigurationFile.path(of: root._commandName, environment) else { return nil }
        let settings = FileSettings(
            file: try ConfigurationFile(path: path), isDefault: named == nil, command: command, root: root)
        try settings.check(options)
        return settings
    }

    /// Returns the path of the configuration file named on the command line or in the environment; `nil` for none.
    private static func file(_ arguments: [String], _ environment: [String: String]) -> String? {
        self.value(of: "config", onCommandLine: arguments) ?? self.value(of: "config", in: environment)
    }

    /// Returns the first value of an option on the command line; `nil` if the option is not given. The arguments after
    /// `--` are no options.
    private static func value(of option: String, onCommandLine arguments: [String]) -> String? {
        let own = arguments.prefix { $0 != "--" }
        for (index, argument) in own.enumerated() {
            if argument.hasPrefix("--\(option)=") { return String(argument.dropFirst(option.count + 3)) }
            if argument == "--\(option)", index + 1 < own.count { return own[index + 1] }
        }
        return nil
    }

    /// Returns the value of an option's environment variable, such as `GODWIT_BROKER` for `broker`; `nil` if the
    /// variable is not set or empty. Services and containers often set empty variables.
    static func value(of option: String, in environment: [String: String]) -> String? {
        environment[self.variable(option)].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the profile named on the command line, in the environment or in the configuration file. Returns `nil` if
    /// no profile is named, and for an unknown name, which the parser rejects later.
    private static func profile(
        _ arguments: [String], _ environment: [String: String], _ settings: FileSettings?
    ) -> Profile? {
        if let named = self.value(of: "profile", onCommandLine: arguments) { return Profile(rawValue: named) }
        let filed = settings?.entry(of: "profile") { _ in false }?.value.text
        return (self.value(of: "profile", in: environment) ?? filed).flatMap(Profile.init)
    }

    // MARK: - The command

    /// Finds the subcommand that the first arguments name, else the default subcommand. Returns its type and the number
    /// of arguments that name it.
    static func command(
        _ arguments: [String], _ root: any ParsableCommand.Type
    ) -> (any ParsableCommand.Type, Int) {
        var command = root
        var count = 0
        for argument in arguments {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == argument }) else {
                break
            }
            command = next
            count += 1
        }
        while let standard = command.configuration.defaultSubcommand { command = standard }
        return (command, count)
    }

    private struct Dump: Decodable {
        struct Command: Decodable { var arguments: [Argument]? }
        struct Argument: Decodable {
            struct Name: Decodable {
                var kind: String
                var name: String
            }
            var kind: String
            var isRepeating: Bool
            var names: [Name]?
        }
        var command: Command
    }

    /// The names of the options that may be given with or without a value. The parser's description of a command does
    /// not mark such options, so they are listed here.
    private static let optionalValues: Set<String> = ["allow-commands"]

    /// Returns all options of a command that have a long name, also the hidden ones, but not `help` and `version`. They
    /// are read from the parser's description of the command.
    static func options(of command: any ParsableCommand.Type) throws -> [Option] {
        let dump = try JSONDecoder().decode(Dump.self, from: Data(command._dumpHelp().utf8))
        return (dump.command.arguments ?? []).compactMap { argument in
            guard argument.kind != "positional",
                let name = argument.names?.first(where: { $0.kind == "long" })?.name,
                !["help", "version"].contains(name)
            else { return nil }
            return Option(
                name: name, isFlag: argument.kind == "flag", isRepeating: argument.isRepeating,
                isValueOptional: argument.kind == "option" && self.optionalValues.contains(name))
        }
    }

    /// Returns `true` for a command with arguments that are not options, such as ids.
    static func takesWords(_ command: any ParsableCommand.Type) throws -> Bool {
        let dump = try JSONDecoder().decode(Dump.self, from: Data(command._dumpHelp().utf8))
        return dump.command.arguments?.contains { $0.kind == "positional" } ?? false
    }

    // MARK: - Values

    static func name(_ argument: String) -> String? {
        guard argument.hasPrefix("--") else { return nil }
        return String(argument.dropFirst(2).prefix { $0 != "=" })
    }

    /// Returns the name of the environment variable for an option, such as `GODWIT_PASSWORD_FILE` for `password-file`.
    static func variable(_ option: String) -> String {
        "GODWIT_" + option.uppercased().replacing("-", with: "_")
    }

    /// Rejects an argument of the form `--option=` without a value, because the parser would take the next argument as
    /// the value.
    ///
    /// - Throws: `ValidationError` that names the option.
    private static func checkValues(_ own: [String], _ options: [Option]) throws {
        let names = Set(options.filter { !$0.isFlag }.map(\.name))
        let empty = own.prefix { $0 != "--" }.first { argument in
            argument.hasSuffix("=") && self.name(argument).map { argument == "--\($0)=" && names.contains($0) } == true
        }
        if let empty {
            throw ValidationError("\(empty) has no value after the equals sign. Give a value, or leave the option out")
        }
    }

    private static func arguments(_ option: Option, environment value: String) throws -> [String] {
        guard let values = option.values(value) else {
            throw ValidationError("\(self.variable(option.name)) must be true or false, not '\(value)'")
        }
        return option.arguments(values)
    }

    private static func arguments(
        _ option: Option, setting entry: ConfigurationFile.Entry, in file: ConfigurationFile
    ) throws -> [String] {
        if option.isFlag {
            guard let isOn = entry.value.flag else {
                throw ValidationError("\(file.place(entry)) must be true or false")
            }
            return isOn ? ["--\(option.name)"] : []
        }
        let values: [ConfigurationFile.Value]
        if case .list(let list) = entry.value {
            guard option.isRepeating else { throw ValidationError("\(file.place(entry)) takes one value, not a list") }
            values = list
        } else {
            values = [entry.value]
        }
        return try values.compactMap { value in
            guard let text = value.text else {
                throw ValidationError("\(file.place(entry)) must be a text or a number")
            }
            return text.isEmpty ? nil : "--\(option.name)=\(text)"
        }
    }
}
