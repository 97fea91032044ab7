public import FoundationEssentials
public import TrackingCore

/// The state folder: the folder for the files that a program keeps between its runs.
public enum StateFolder {
    /// Returns the path of a file in the program's state folder. If the folder is missing, it is created with access
    /// for its owner alone.
    ///
    /// The state folder is the first of these that is set: `given`, `$STATE_DIRECTORY` (systemd),
    /// `$XDG_STATE_HOME/godwit` (if the variable is an absolute path), `~/.local/state/godwit`.
    ///
    /// - Parameters:
    ///   - name: The file's name.
    ///   - given: The folder that the user named; `nil` for a default.
    ///   - option: The option with which the user names another folder, for the error message.
    ///   - environment: The environment variables.
    /// - Throws: `inputUnreadable` when the folder cannot be created.
    public static func path(
        for name: String, in given: String? = nil, option: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(TrackingError) -> String {
        let folder = given ?? Self.folder(environment)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw TrackingError(
                .inputUnreadable,
                "cannot create the folder '\(folder)' for the program's files. Name another place with \(option)")
        }
        return "\(folder)/\(name)"
    }

    private static func folder(_ environment: [String: String]) -> String {
        // systemd names several folders, separated by colons; the first belongs to the program.
        if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(folder) }
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { return "\(home)/godwit" }
        return "\(environment["HOME"] ?? ".")/.local/state/godwit"
    }
}
