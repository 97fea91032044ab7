public import ArgumentParser
import FoundationEssentials
import Yams

/// Options can be given on the command line, in the environment and in a YAML file; the former wins over the latter.
///
/// Each option is defined once, for the command line. What the environment (`--broker` is `GODWIT_BROKER`) and the file
/// (`broker:`) add is put in front of the command's own arguments, so that all three are read and checked by one parser.
public enum LayeredArguments {
    /// One option of a command.
    struct Option: Hashable, Sendable {
        var name: String
        var isFlag: Bool
        var isRepeating: Bool
    }

    /// Keys of the file that are not options: the commands read them themselves.
    public static let structuredKeys: Set<String> = ["trackables"]

    /// The arguments of the command line with those of the environment and the file put in.
    ///
    /// - Throws: `ValidationError` for a file that cannot be read or has unknown keys; it names the key.
    public static func merge(
        _ arguments: [String], environment: [String: String], for root: any ParsableCommand.Type
    ) throws -> [String] {
        let (command, words) = self.command(arguments, root)
        let options = try self.options(of: command)
        let own = Array(arguments.dropFirst(words))
        var added: [String] = []
        let given = Set(own.prefix { $0 != "--" }.compactMap(self.name))
        // A command that takes no file is not disturbed by one that the environment names for others.
        let path = options.contains { $0.name == "config" } ? self.file(own, environment) : nil
        let settings = try path.map { try self.settings($0, options) } ?? [:]
        for option in options where !given.contains(option.name) && option.name != "config" {
            if let value = environment[self.variable(option.name)] {
                added += try self.arguments(option, environment: value)
            } else if let value = settings[option.name] {
                added += try self.arguments(option, setting: value)
            }
        }
        return Array(arguments.prefix(words)) + added + own
    }

    /// The file named on the command line or in the environment.
    public static func file(_ arguments: [String], _ environment: [String: String]) -> String? {
        for (index, argument) in arguments.enumerated() {
            if argument.hasPrefix("--config=") { return String(argument.dropFirst("--config=".count)) }
            if argument == "--config", index + 1 < arguments.count { return arguments[index + 1] }
        }
        return environment["GODWIT_CONFIG"]
    }

    /// The file's keys and values.
    ///
    /// - Throws: `ValidationError` that says what is wrong with the file.
    public static func load(_ path: String) throws -> [String: Any] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationFileError.unreadable(path)
        }
        let loaded: Any?
        do { loaded = try Yams.load(yaml: String(decoding: data, as: UTF8.self)) } catch {
            throw ValidationError("'\(path)' is not YAML: \(error)")
        }
        guard let loaded else { return [:] }
        guard let settings = loaded as? [String: Any] else {
            throw ValidationError("'\(path)' must be a mapping of keys to values, such as 'broker: mqtt://host'")
        }
        return settings
    }

    // MARK: - The command

    /// The subcommand that the first words name, and how many words that takes.
    private static func command(
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

    /// The long options of a command, as the parser itself lists them.
    static func options(of command: any ParsableCommand.Type) throws -> [Option] {
        let dump = try JSONDecoder().decode(Dump.self, from: Data(command._dumpHelp().utf8))
        return (dump.command.arguments ?? []).compactMap { argument in
            guard argument.kind != "positional",
                let name = argument.names?.first(where: { $0.kind == "long" })?.name,
                !["help", "version"].contains(name)
            else { return nil }
            return Option(name: name, isFlag: argument.kind == "flag", isRepeating: argument.isRepeating)
        }
    }

    // MARK: - Values

    private static func name(_ argument: String) -> String? {
        guard argument.hasPrefix("--") else { return nil }
        return String(argument.dropFirst(2).prefix { $0 != "=" })
    }

    /// The environment variable of an option.
    static func variable(_ option: String) -> String {
        "GODWIT_" + option.uppercased().replacing("-", with: "_")
    }

    private static func settings(_ path: String, _ options: [Option]) throws -> [String: Any] {
        let settings = try self.load(path)
        let known = Set(options.map(\.name)).union(self.structuredKeys)
        guard let unknown = settings.keys.filter({ !known.contains($0) }).min() else { return settings }
        throw ValidationError(
            "'\(path)' has the unknown key '\(unknown)'; the keys are the long options of the command, without dashes")
    }

    private static func arguments(_ option: Option, environment value: String) throws -> [String] {
        guard option.isFlag else {
            let values = option.isRepeating ? value.split(separator: ",").map(String.init) : [value]
            return values.map { "--\(option.name)=\($0)" }
        }
        switch value.lowercased() {
        case "1", "true", "yes", "on": return ["--\(option.name)"]
        case "0", "false", "no", "off", "": return []
        default: throw ValidationError("\(self.variable(option.name)) must be true or false, not '\(value)'")
        }
    }

    private static func arguments(_ option: Option, setting value: Any) throws -> [String] {
        if option.isFlag {
            guard let isOn = value as? Bool else {
                throw ValidationError("the key '\(option.name)' of the configuration file must be true or false")
            }
            return isOn ? ["--\(option.name)"] : []
        }
        if let list = value as? [Any] {
            guard option.isRepeating else {
                throw ValidationError("the key '\(option.name)' of the configuration file takes one value, not a list")
            }
            return try list.map { "--\(option.name)=\(try self.text($0, option.name))" }
        }
        return ["--\(option.name)=\(try self.text(value, option.name))"]
    }

    private static func text(_ value: Any, _ key: String) throws -> String {
        switch value {
        case let text as String: return text
        case let number as Int: return String(number)
        case let number as Double: return String(number)
        case let flag as Bool: return flag ? "on" : "off"
        default: throw ValidationError("the key '\(key)' of the configuration file must be a text or a number")
        }
    }
}

/// A configuration file that is not there or cannot be read: exit code 66.
public enum ConfigurationFileError: Error, CustomStringConvertible {
    /// The file's path.
    case unreadable(String)

    /// What, where and what to do.
    public var description: String {
        switch self {
        case .unreadable(let path):
            "the configuration file '\(path)' cannot be read; check the path and its permissions"
        }
    }
}
