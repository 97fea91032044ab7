import ArgumentParser

extension Terminal {
    /// Asks the user on the terminal to confirm an operation. Asks nothing if `--yes` was given.
    ///
    /// - Parameters:
    ///   - question: The question, with its question mark.
    ///   - isYes: `true` if `--yes` was given, so that the operation is confirmed without a question.
    /// - Throws: `ValidationError` (exit code 64) if standard input is not a terminal; exit code 1 if the user does not
    ///   confirm.
    public static func confirm(_ question: String, isYes: Bool) throws {
        guard !isYes else { return }
        guard Self.isInput else {
            throw ValidationError(
                "\(question) Standard input is not a terminal, so this question cannot be answered. Give --yes to confirm"
            )
        }
        try Output.print("\(question) [y/N] ")
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            Program.complain("the question was not answered with yes, so nothing was changed")
            throw ExitCode(1)
        }
    }
}
