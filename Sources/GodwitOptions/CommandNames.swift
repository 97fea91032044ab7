public import ArgumentParser

/// Checks that the words on the command line which should name a command do so, and suggests similar names.
public enum CommandNames {
    /// Checks that the first words of the command line name a command.
    ///
    /// - Throws: `ValidationError` that names the unknown command, and the commands with a similar name.
    static func check(_ arguments: [String], for root: any ParsableCommand.Type) throws {
        var command = root
        var path = [root._commandName]
        for argument in arguments {
            let known = command.configuration.subcommands
            guard !known.isEmpty, !argument.hasPrefix("-"), !(path.count == 1 && argument == "help") else { return }
            if let next = known.first(where: { $0._commandName == argument }) {
                command = next
                path.append(argument)
                continue
            }
            if let standard = command.configuration.defaultSubcommand, try LayeredArguments.takesWords(standard) {
                return
            }
            let question = NearestNames(to: argument, among: known.map { $0._commandName }).question
            throw ValidationError(
                ["\(path.joined(separator: " ")) has no command '\(argument)'.", question].compactMap(\.self)
                    .joined(separator: " "))
        }
    }

    /// Returns the question for the subcommands with a similar name: `Did you mean godwit share list?`; `nil` if there
    /// are none.
    ///
    /// - Parameters:
    ///   - word: The word that may be a misspelt subcommand, such as an id that is not known.
    ///   - command: The command to which the word was given.
    ///   - path: The full name of the command: `godwit share`.
    public static func question(for word: String, of command: any ParsableCommand.Type, path: String) -> String? {
        let names = command.configuration.subcommands.map { $0._commandName }
        return NearestNames(to: word, among: names).question { "\(path) \($0)" }
    }

    /// Returns the question for the subcommands that are similar to the first argument of a default subcommand, such as
    /// `lits` in `godwit share lits`; `nil` if there are none.
    static func question(for arguments: [String], root: any ParsableCommand.Type) -> String? {
        var command = root
        var path = [root._commandName]
        for argument in arguments {
            if let next = command.configuration.subcommands.first(where: { $0._commandName == argument }) {
                command = next
                path.append(argument)
                continue
            }
            guard command.configuration.defaultSubcommand != nil, !argument.hasPrefix("-") else { return nil }
            return self.question(for: argument, of: command, path: path.joined(separator: " "))
        }
        return nil
    }
}
