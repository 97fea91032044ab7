import ArgumentParser

extension Terminal {
    /// Asks a person, who must say yes.
    ///
    /// - Throws: Exit code 64 where nobody can be asked, 1 where the answer is no.
    public static func confirm(_ question: String, isYes: Bool) throws {
        guard !isYes else { return }
        guard Self.isInput else { throw ValidationError("\(question) Nobody can be asked: give --yes") }
        try Output.print("\(question) [y/N] ")
        guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
            Program.complain("nothing was changed")
            throw ExitCode(1)
        }
    }
}
