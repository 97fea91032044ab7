import ArgumentParser
import FoundationEssentials
private import Yams

/// The content of a configuration file (YAML): the options with their values and line numbers.
public struct ConfigurationFile: Sendable {
    /// One key of the configuration file, with its value and its line.
    struct Entry: Sendable {
        let key: String
        let value: Value
        /// The line of the key in the file, from 1; `nil` if the YAML parser does not report it.
        let line: Int?
    }

    /// The value of a key in the configuration file. A single value is the text as it is written in the file.
    indirect enum Value: Sendable {
        case text(String)
        case nothing
        case list([Value])
        case mapping([Entry])

        /// The value of a key as a Boolean: `true` for the text true, yes or on; `false` for false, no or off; `nil`
        /// for anything else.
        var flag: Bool? {
            guard case .text(let text) = self else { return nil }
            switch text.lowercased() {
            case "true", "yes", "on": return true
            case "false", "no", "off": return false
            default: return nil
            }
        }

        /// The value of a key as one text; `nil` for a list, a mapping and a key without a value.
        var text: String? { if case .text(let text) = self { text } else { nil } }
    }

    /// The path of the configuration file, as the user gave it.
    public let path: String
    let entries: [Entry]

    /// Reads a configuration file. An empty file has no entries.
    ///
    /// - Throws: ``ConfigurationFileError`` if the file cannot be read or is not UTF-8; `ValidationError` if its
    ///   content is not a YAML mapping.
    public init(path: String) throws {
        self.path = path
        // Foundation does not read devices, and users name this one for an empty file.
        guard let data = path == "/dev/null" ? Data() : FileManager.default.contents(atPath: path) else {
            throw ConfigurationFileError.unreadable(path)
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw ConfigurationFileError.notUTF8(path, line: Self.lineThatIsNotUTF8(data))
        }
        let root: Node?
        // Yams rejects a byte order mark.
        do { root = try Yams.compose(yaml: text.first == "\u{FEFF}" ? String(text.dropFirst()) : text) } catch {
            throw ValidationError("cannot read the configuration file '\(path)'\(Self.fault(error))")
        }
        switch root.map(Self.value) {
        case nil, .nothing: self.entries = []
        case .mapping(let entries): self.entries = entries
        case .text, .list:
            throw ValidationError(
                "the configuration file '\(path)' is not a mapping. Write keys with values, such as 'broker: mqtt://host'"
            )
        }
    }

    subscript(key: String) -> Entry? { self.entries.first { $0.key == key } }

    /// Returns the beginning of an error message about a key: the path of the configuration file, the line and the key.
    func place(_ entry: Entry) -> String {
        "'\(self.path)'" + (entry.line.map { ", line \($0)" } ?? "") + ": the key '\(entry.key)'"
    }

    /// Returns the line and the kind of an error in the YAML syntax, as text. The parser's own message is left out,
    /// because it quotes lines of the file, which may contain secrets.
    private static func fault(_ error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return ", line \(mark.line), column \(mark.column): not valid YAML: \(problem)"
        case .reader(let problem, let offset, _, let yaml):
            let line = offset.map { 1 + yaml.prefix($0).count(where: \.isNewline) }
            return (line.map { ", line \($0)" } ?? "") + ": not valid YAML: \(problem)"
        case .duplicatedKeysInMapping(let keys, let context):
            let isName = { (key: String) in key.utf8.count <= 64 && key.allSatisfy { $0.isLetter || $0 == "-" } }
            let key = keys.first(where: isName).map { "the key '\($0)'" } ?? "a key"
            return ", line \(context.mark.line): \(key) is given twice"
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded, nil:
            return ": not valid YAML"
        }
    }

    /// Returns the number, from 1, of the first line of the file that is not UTF-8.
    private static func lineThatIsNotUTF8(_ data: Data) -> Int {
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return 1 + (lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0)
    }

    private static func value(_ node: Node) -> Value {
        switch node {
        case .scalar(let scalar): node.null == nil ? .text(scalar.string) : .nothing
        case .sequence(let sequence): .list(sequence.map(self.value))
        case .mapping(let mapping):
            .mapping(
                mapping.map { key, value in
                    Entry(key: key.string ?? "", value: self.value(value), line: key.mark?.line)
                })
        case .alias: .nothing  // the parser resolves aliases and never returns one
        }
    }
}

/// A configuration file that cannot be read or is not UTF-8. The program then ends with exit code 66.
public enum ConfigurationFileError: Error, CustomStringConvertible {
    /// The configuration file cannot be read, for example because it does not exist. The value is the path.
    case unreadable(String)
    /// The configuration file has a line, counted from 1, that is not UTF-8. The first value is the path.
    case notUTF8(String, line: Int)

    /// The error as text: the path of the configuration file, the cause and the remedy.
    public var description: String {
        switch self {
        case .unreadable(let path):
            "cannot read the configuration file '\(path)'. Check the path and its permissions"
        case .notUTF8(let path, let line):
            "cannot read the configuration file '\(path)': its line \(line) is not UTF-8. Save the file as UTF-8"
        }
    }
}
