import ArgumentParser

/// The values of a command's options as text, by the long name of each option.
///
/// A flag that is given has the value `true`. An option that is given without its optional value also has the value
/// `true`.
public struct OptionValues: Hashable, Sendable {
    private var values: [String: [String]] = [:]
    private let options: [String: LayeredArguments.Option]

    /// Reads the values of options from a command's arguments. The arguments do not include the name of the command.
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

    /// Returns `true` if the command accepts the option with this long name.
    public func knows(_ name: String) -> Bool { self.options[name] != nil }

    /// The values given to the option with this long name; `nil` if the option is not given.
    public subscript(name: String) -> [String]? {
        get { self.values[name] }
        set { self.values[name] = newValue?.isEmpty == true ? nil : newValue }
    }

    /// Splits a text into the values of an option. A repeatable option has one value on each line, and any other option
    /// has one value. A flag accepts `true` or `false` (or `on`, `off`, `1`, `0` …). An empty text is no value.
    ///
    /// - Throws: `ValidationError` for an unknown option, and for a flag whose text is neither on nor off.
    public func values(of name: String, in text: String) throws -> [String] {
        guard let option = self.options[name] else {
            throw ValidationError(
                "there is no setting '\(name.prefix(80))'. Use the long name of an option of godwit-agent run, without its dashes"
            )
        }
        guard let values = text.isEmpty ? [] : option.values(text) else {
            throw ValidationError("the setting '\(name)' must be on or off, not '\(text.prefix(80))'")
        }
        return values
    }

    /// The values of the options, completed with the values of the profile that the option `profile` names. A value
    /// that is already given wins over that of the profile.
    public var profiled: OptionValues {
        var all = self
        for (name, value) in self["profile"]?.first.flatMap(Profile.init)?.keys ?? [] where self[name] == nil {
            all[name] = [value]
        }
        return all
    }

    /// The values of the options as command-line arguments (`--name=value`), which the command's parser can read.
    public var arguments: [String] {
        self.values.sorted { $0.key < $1.key }.flatMap { name, values in
            self.options[name]?.arguments(values) ?? []
        }
    }
}

extension LayeredArguments.Option {
    /// Splits a text into values of this option; returns `nil` for a flag whose text is neither on nor off. A
    /// repeatable option has one value on each line, any other option one value. A flag has the value `true` if the
    /// text means on, and no value if it means off.
    func values(_ text: String) -> [String]? {
        guard self.isFlag else {
            // Each line is one value, because any other separator may be part of a path, an id or an address.
            return self.isRepeating ? text.split(whereSeparator: \.isNewline).map(String.init) : [text]
        }
        return switch text.lowercased() {
        case "1", "true", "yes", "on": ["true"]
        case "0", "false", "no", "off", "": []
        default: nil
        }
    }

    /// Returns the values as command-line arguments of this option: `--name=value` for each value, or one `--name` for
    /// a flag that is on.
    func arguments(_ values: [String]) -> [String] {
        self.isFlag ? values.prefix(1).map { _ in "--\(self.name)" } : values.map { "--\(self.name)=\($0)" }
    }
}
