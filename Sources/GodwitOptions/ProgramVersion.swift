/// The version of the programs `godwit` and `godwit-agent`.
public enum ProgramVersion {
    /// The version number of the programs, the same as in the last entry of CHANGELOG.md.
    static let number = "0.1.0"

    /// Returns the version as `--version` prints it: `0.1.0 (9c7557c)`, or `0.1.0` for an empty commit.
    ///
    /// - Parameter commit: The commit from which the program was built; empty if the build does not know it.
    public static func text(commit: String) -> String {
        commit.isEmpty ? self.number : "\(self.number) (\(commit))"
    }
}
