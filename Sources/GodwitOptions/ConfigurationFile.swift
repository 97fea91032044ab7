import ArgumentParser
import FoundationEssentials
private import Yams

/// A YAML file of options: keys, values and their lines.
public struct ConfigurationFile: Sendable {
    /// A key with its value.
    struct Entry: Sendable {
        let key: String
        let value: Value
        /// The line, from 1; `nil` if the parser does not know it.
        let line: Int?
    }

    /// A value; scalars are kept as written.
    indirect enum Value: Sendable {
        case text(String)
        case nothing
        case list([Value])
        case mapping([Entry])

        /// The value as a flag; `nil` if it is neither true nor false.
        var flag: Bool? {
            guard case .text(let text) = self else { return nil }
            switch text.lowercased() {
            case "true", "yes", "on": return true
            case "false", "no", "off": return false
            default: return nil
            }
        }

        /// The value as one text; `nil` for a list, a mapping and an empty value.
        var text: String? { if case .text(let text) = self { text } else { nil } }
    }

    /// The path of the file.
    public let path: String
    let entries: [Entry]

    /// Reads a file.
    ///
    /// - Throws: ``ConfigurationFileError`` if the file cannot be read; `ValidationError` if it is not a mapping in
    ///   YAML.
    public init(path: String) throws {
        self.path = path
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationFileError.unreadable(path)
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw ConfigurationFileError.notUTF8(path, line: Self.lineThatIsNotUTF8(data))
        }
        let root: Node?
        // Yams rejects a byte order mark.
        do { root = try Yams.compose(yaml: text.first == "\u{FEFF}" ? String(text.dropFirst()) : text) } catch {
            throw ValidationError("'\(path)'\(Self.fault(error))")
        }
        switch root.map(Self.value) {
        case nil, .nothing: self.entries = []
        case .mapping(let entries): self.entries = entries
        case .text, .list:
            throw ValidationError(
                "'\(path)' is not a mapping. Write keys with values, such as 'broker: mqtt://host'")
        }
    }

    subscript(key: String) -> Entry? { self.entries.first { $0.key == key } }

    /// The file, line and name of a key, as the beginning of an error message.
    func place(_ entry: Entry) -> String {
        "'\(self.path)'" + (entry.line.map { ", line \($0)" } ?? "") + ": the key '\(entry.key)'"
    }

    /// The place and the kind of a YAML error. The parser's own text is left out: it repeats lines, which may contain
    /// secrets.
    private static func fault(_ error: any Error) -> String {
        switch error as? YamlError {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return ", line \(mark.line), column \(mark.column): is not YAML: \(problem)"
        case .reader(let problem, let offset, _, let yaml):
            let line = offset.map { 1 + yaml.prefix($0).count(where: \.isNewline) }
            return (line.map { ", line \($0)" } ?? "") + ": is not YAML: \(problem)"
        case .duplicatedKeysInMapping(let keys, let context):
            let isName = { (key: String) in key.utf8.count <= 64 && key.allSatisfy { $0.isLetter || $0 == "-" } }
            let key = keys.first(where: isName).map { "the key '\($0)'" } ?? "a key"
            return ", line \(context.mark.line): \(key) is given twice"
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded, nil:
            return ": is not YAML"
        }
    }

    /// The number of the first line that is not UTF-8, from 1.
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

/// A configuration file that cannot be read or is not UTF-8. The exit code is 66.
public enum ConfigurationFileError: Error, CustomStringConvertible {
    /// The file does not exist or may not be read.
    case unreadable(String)
    /// The file has a line, counted from 1, that is not UTF-8.
    case notUTF8(String, line: Int)

    /// The file, the cause and the remedy.
    public var description: String {
        switch self {
        case .unreadable(let path):
            "cannot read the configuration file '\(path)'. Check the path and its permissions"
        case .notUTF8(let path, let line):
            "cannot read the configuration file '\(path)': line \(line) is not UTF-8. Save the file as UTF-8"
        }
    }
}
