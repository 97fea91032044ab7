public import FoundationEssentials
public import TrackingCore

/// Where a program keeps what must survive it.
public enum StateFolder {
    /// The path of a file of this name, that `option` may put elsewhere: in `given`, else in `$STATE_DIRECTORY` (systemd), else in `$XDG_STATE_HOME/godwit`, else in
    /// `~/.local/state/godwit`; the folder is made, for its owner alone.
    ///
    /// - Throws: `inputUnreadable` that names the folder that cannot be made.
    public static func path(
        for name: String, in given: String? = nil, option: String = "--spool",
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(TrackingError) -> String {
        let folder = given ?? Self.folder(environment)
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw TrackingError(
                .inputUnreadable, "the folder '\(folder)' cannot be made: name another place with \(option)")
        }
        return "\(folder)/\(name)"
    }

    private static func folder(_ environment: [String: String]) -> String {
        // systemd names several, parted by colons; the first is the program's own.
        if let folder = environment["STATE_DIRECTORY"]?.split(separator: ":").first { return String(folder) }
        if let home = environment["XDG_STATE_HOME"], home.hasPrefix("/") { return "\(home)/godwit" }
        return "\(environment["HOME"] ?? ".")/.local/state/godwit"
    }
}
