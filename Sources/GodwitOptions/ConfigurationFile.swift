import ArgumentParser
import FoundationEssentials

/// The content of a configuration file (YAML): the options with their values and line numbers.
public struct ConfigurationFile: Sendable {
    /// One key of the configuration file, with its value and its line.
    struct Entry: Sendable {
        let key: String
        let value: Value
        /// The line of the key in the file, from 1.
        let line: Int
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
        let root: Value?
        do { root = try YAMLReader.document(in: text.first == "\u{FEFF}" ? String(text.dropFirst()) : text) } catch {
            throw ValidationError("cannot read the configuration file '\(path)'\(Self.fault(error))")
        }
        switch root {
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
        "'\(self.path)', line \(entry.line): the key '\(entry.key)'"
    }

    /// Returns the line and the kind of a fault in the YAML text, as text. No line of the file is quoted, because the
    /// file may contain secrets.
    private static func fault(_ error: any Error) -> String {
        switch error as? YAMLFault {
        case .syntax(let problem, let line, let column):
            return ", line \(line), column \(column): not valid YAML: \(problem)"
        case .character(let problem, let line): return ", line \(line): not valid YAML: \(problem)"
        case .duplicateKey(let key, let line):
            let isName = key.utf8.count <= 64 && key.allSatisfy { $0.isLetter || $0 == "-" }
            return ", line \(line): \(isName && !key.isEmpty ? "the key '\(key)'" : "a key") is given twice"
        case .tooLarge(let line):
            return
                ", line \(line): more than \(YAMLReader.maximumValues) values, or more than \(YAMLReader.maximumDepth) lists and mappings inside each other. Write fewer values"
        case .memory: return ": the memory does not suffice to read it"
        case nil: return ": not valid YAML"
        }
    }

    /// Returns the number, from 1, of the first line of the file that is not UTF-8.
    private static func lineThatIsNotUTF8(_ data: Data) -> Int {
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return 1 + (lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0)
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
