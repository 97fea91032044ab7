import ArgumentParser

/// What is given of each option of one command, by long name: a value for people and files, before it is parsed.
///
/// A flag that is given has the one value `true`, and so has an option that is given without its optional value.
public struct OptionValues: Hashable, Sendable {
    private var values: [String: [String]] = [:]
    private let options: [String: LayeredArguments.Option]

    /// Reads arguments without the words that name the command.
    init(_ arguments: [String], of options: [LayeredArguments.Option]) {
        self.options = Dictionary(options.map { ($0.name, $0) }) { first, _ in first }
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard let name = LayeredArguments.name(argument), let option = self.options[name] else { continue }
            let equals = argument.firstIndex(of: "=")
            let isBare = option.isValueOptional && equals == nil && rest.first?.hasPrefix("-") != false
            let value =
                option.isFlag || isBare
                ? "true" : equals.map { String(argument[argument.index(after: $0)...]) } ?? rest.popFirst()
            guard let value else { continue }
            self.values[name] = option.isRepeating ? (self.values[name] ?? []) + [value] : [value]
        }
    }

    /// Whether the command has such an option.
    public func knows(_ name: String) -> Bool { self.options[name] != nil }

    /// The values of an option; `nil` where it is not given.
    public subscript(name: String) -> [String]? {
        get { self.values[name] }
        set { self.values[name] = newValue?.isEmpty == true ? nil : newValue }
    }

    /// The values that a text stands for, as in the environment: a line each where the option can be repeated, `true` or
    /// `false` (or `on` …) for a flag; an empty text is none.
    ///
    /// - Throws: `ValidationError` for a flag that is neither, and for an option that the command has not.
    public func values(of name: String, in text: String) throws -> [String] {
        guard let option = self.options[name] else { throw ValidationError("there is no setting '\(name.prefix(80))'") }
        guard let values = text.isEmpty ? [] : option.values(text) else {
            throw ValidationError("\(name) must be on or off, not '\(text.prefix(80))'")
        }
        return values
    }

    /// The same with the options of the profile that is named in it, beneath what is given by itself.
    public var profiled: OptionValues {
        var all = self
        for (name, value) in self["profile"]?.first.flatMap(Profile.init)?.keys ?? [] where self[name] == nil {
            all[name] = [value]
        }
        return all
    }

    /// All of it as arguments for the parser of the command.
    public var arguments: [String] {
        self.values.sorted { $0.key < $1.key }.flatMap { name, values in
            self.options[name]?.arguments(values) ?? []
        }
    }
}

extension LayeredArguments.Option {
    /// The values that a text stands for; `nil` where a flag is neither true nor false.
    func values(_ text: String) -> [String]? {
        guard self.isFlag else {
            // A line each: any other separator may be part of a path, an id or an address.
            return self.isRepeating ? text.split(whereSeparator: \.isNewline).map(String.init) : [text]
        }
        return switch text.lowercased() {
        case "1", "true", "yes", "on": ["true"]
        case "0", "false", "no", "off", "": []
        default: nil
        }
    }

    /// The values as arguments.
    func arguments(_ values: [String]) -> [String] {
        self.isFlag ? values.prefix(1).map { _ in "--\(self.name)" } : values.map { "--\(self.name)=\($0)" }
    }
}
