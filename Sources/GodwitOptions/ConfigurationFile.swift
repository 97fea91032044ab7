import ArgumentParser
import FoundationEssentials
private import Yams

/// A YAML file of options: keys, their values, and the lines they stand on.
public struct ConfigurationFile: Sendable {
    /// A key with its value.
    struct Entry: Sendable {
        let key: String
        let value: Value
        /// From 1; `nil` where the parser does not know.
        let line: Int?
    }

    /// A value, with scalars as they were written.
    indirect enum Value: Sendable {
        case text(String)
        case nothing
        case list([Value])
        case mapping([Entry])

        /// What a flag is set to; `nil` when this is neither true nor false.
        var flag: Bool? {
            guard case .text(let text) = self else { return nil }
            switch text.lowercased() {
            case "true", "yes", "on": return true
            case "false", "no", "off": return false
            default: return nil
            }
        }

        /// The one text; `nil` when this is a list, a mapping or nothing.
        var text: String? { if case .text(let text) = self { text } else { nil } }
    }

    /// Where it was read.
    public let path: String
    let entries: [Entry]

    /// Reads a file.
    ///
    /// - Throws: ``ConfigurationFileError`` when it cannot be read, `ValidationError` when it is no mapping in YAML.
    public init(path: String) throws {
        self.path = path
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationFileError.unreadable(path)
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw ConfigurationFileError.notUTF8(path, line: Self.lineThatIsNotUTF8(data))
        }
        let root: Node?
        // A byte order mark is none of YAML's characters to this parser.
        do { root = try Yams.compose(yaml: text.first == "\u{FEFF}" ? String(text.dropFirst()) : text) } catch {
            throw ValidationError("'\(path)'\(Self.fault(error))")
        }
        switch root.map(Self.value) {
        case nil, .nothing: self.entries = []
        case .mapping(let entries): self.entries = entries
        case .text, .list:
            throw ValidationError("'\(path)' must be a mapping of keys to values, such as 'broker: mqtt://host'")
        }
    }

    subscript(key: String) -> Entry? { self.entries.first { $0.key == key } }

    /// Names a key and where it stands, for what is wrong with it.
    func place(_ entry: Entry) -> String {
        "'\(self.path)'" + (entry.line.map { ", line \($0)" } ?? "") + ": the key '\(entry.key)'"
    }

    /// Where and what is wrong, without a word of the file that may be a secret: the parser's own text repeats its lines.
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

    /// The first line, from 1, that is no text.
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
        case .alias: .nothing  // resolved by the parser; it never hands one out
        }
    }
}

/// A configuration file that is not there, cannot be read or is no text: exit code 66.
public enum ConfigurationFileError: Error, CustomStringConvertible {
    /// The file's path.
    case unreadable(String)
    /// The file's path, and the line, from 1, that is not UTF-8.
    case notUTF8(String, line: Int)

    /// What, where and what to do.
    public var description: String {
        switch self {
        case .unreadable(let path):
            "the configuration file '\(path)' cannot be read; check the path and its permissions"
        case .notUTF8(let path, let line):
            "the configuration file '\(path)' is not UTF-8 in line \(line); save it as UTF-8"
        }
    }
}
