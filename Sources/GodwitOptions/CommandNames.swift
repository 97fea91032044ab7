import ArgumentParser

/// Checks the words on the command line that name a command, such as `bridge owntracks`.
enum CommandNames {
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
}
