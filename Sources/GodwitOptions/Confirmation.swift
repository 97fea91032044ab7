import ArgumentParser

extension Terminal {
    /// Asks the user for consent on the terminal.
    ///
    /// - Parameters:
    ///   - question: The question, with its question mark.
    ///   - isYes: `true` if `--yes` was given: nothing is asked.
    /// - Throws: Exit code 64 if standard input is not a terminal, 1 if the answer is no.
    public static func confirm(_ question: String, isYes: Bool) throws {
        guard !isYes else { return }
        guard Self.isInput else {
            throw ValidationError("\(question) Standard input is not a terminal, so nobody can answer: give --yes")
        }
        try Output.print("\(question) [y/N] ")
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            Program.complain("nothing was changed")
            throw ExitCode(1)
        }
    }
}
