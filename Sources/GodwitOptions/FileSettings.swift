import ArgumentParser

/// The settings that a configuration file has for one command: the keys at the top of the file, and the keys in the
/// section of the command, which win.
///
/// The options in ``shared`` mean the same in every command. They may be at the top of a file that all commands of a
/// program read. A command without such an option ignores it.
struct FileSettings {
    /// The long names of the options that mean the same in every command, such as `broker`. They may be at the top of a
    /// file that several commands read.
    static let shared: Set<String> = [
        "broker", "password-file", "password-command", "password", "topic-root", "ca", "cert", "key", "fail-fast",
        "log-level", "store", "subscription-qos",
        "state", "units",
    ]
    /// The long names of the options for the login at one broker: the password and the certificates.
    private static let login: Set<String> = ["password-file", "password-command", "password", "ca", "cert", "key"]

    let file: ConfigurationFile
    /// `true` if the file is the program's default configuration file: neither `--config` nor `GODWIT_CONFIG` names a
    /// file.
    let isDefault: Bool
    private let root: any ParsableCommand.Type
    private let section: [ConfigurationFile.Entry]

    /// Makes the settings that a configuration file has for one command.
    ///
    /// - Parameters:
    ///   - file: The configuration file.
    ///   - isDefault: `true` for the program's default file.
    ///   - command: The command that reads the file.
    ///   - root: The program's root command.
    init(
        file: ConfigurationFile, isDefault: Bool, command: any ParsableCommand.Type, root: any ParsableCommand.Type
    ) {
        self.file = file
        self.isDefault = isDefault
        self.root = root
        self.section = file.entries.flatMap { entry -> [ConfigurationFile.Entry] in
            guard case .mapping(let members) = entry.value, Self.command(entry.key, of: root) == command else {
                return []
            }
            return members
        }
    }

    /// Returns the entry of an option; `nil` if the file does not set it for the command.
    ///
    /// A default file sets the password and the certificates for its own broker only: they are never sent to a broker
    /// that the command line or the environment names.
    ///
    /// - Parameter isGiven: Returns `true` for an option that the command line or the environment sets.
    func entry(of option: String, isGiven: (String) -> Bool) -> ConfigurationFile.Entry? {
        if self.isDefault, Self.login.contains(option), isGiven("broker") { return nil }
        return self.section.first { $0.key == option }
            ?? self.file.entries.first { $0.key == option && !self.isSection($0) }
    }

    /// Checks the keys of the configuration file. Sections of other commands are checked when these commands run.
    ///
    /// - Parameter options: The options of the command.
    /// - Throws: `ValidationError` for an unknown key and for the key `config`. Also for a key at the top of a default
    ///   file that is not in ``shared``, if several commands of the program read that file. The error contains the
    ///   line.
    func check(_ options: [LayeredArguments.Option]) throws {
        let known = Set(options.map(\.name))
        for entry in self.file.entries + self.section where entry.key == "config" {
            throw ValidationError(
                "\(self.file.place(entry)) would name a second configuration file, which is not supported. Remove the key"
            )
        }
        // `trackables` is a list in the file only; `TrackableOptions` reads it.
        let top = known.contains("trackable") ? known.union(["trackables"]) : known
        for entry in self.file.entries where !self.isSection(entry) {
            let isShared = Self.shared.contains(entry.key)
            guard top.contains(entry.key) || isShared && self.hasSeveralReaders else { throw self.unknown(entry) }
            guard isShared || !self.isDefault || !self.hasSeveralReaders else { throw self.misplaced(entry) }
        }
        for entry in self.section where !known.contains(entry.key) { throw self.unknown(entry) }
    }

    private func unknown(_ entry: ConfigurationFile.Entry) -> ValidationError {
        ValidationError(
            "\(self.file.place(entry)) is unknown: the command has no such option. Write the long name of an option without its dashes, such as 'broker' for --broker"
        )
    }

    private func misplaced(_ entry: ConfigurationFile.Entry) -> ValidationError {
        ValidationError(
            "\(self.file.place(entry)) must not be at the top of the default configuration file, because not every command has this option with the same meaning. Write it below the name of the command that it is for, such as 'serve:'"
        )
    }

    private func isSection(_ entry: ConfigurationFile.Entry) -> Bool {
        switch entry.value {
        case .mapping, .nothing: Self.command(entry.key, of: self.root) != nil
        case .text, .list: false
        }
    }

    /// `true` if more than one command of the program has the option `--config`.
    private var hasSeveralReaders: Bool {
        let readers = Self.commands(below: self.root).lazy.filter { command in
            (try? LayeredArguments.options(of: command))?.contains { $0.name == "config" } == true
        }
        return readers.prefix(2).count > 1
    }

    /// Returns the command that a key of the configuration file names, such as `bridge owntracks`; `nil` if there is no
    /// such command.
    private static func command(_ name: String, of root: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
        let words = name.split(separator: " ").map(String.init)
        let (command, count) = LayeredArguments.command(words, root)
        return count > 0 && count == words.count ? command : nil
    }

    private static func commands(below command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
        command.configuration.subcommands.flatMap { [$0] + self.commands(below: $0) }
    }
}
