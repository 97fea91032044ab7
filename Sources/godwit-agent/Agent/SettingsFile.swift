import FoundationEssentials
import GodwitOptions
import Logging
import TrackingControl
import TrackingCore

/// The file with an agent's run-time changes of settings, and the files with the passwords of set-up links. They are in
/// the same folder as the device's log, and only the agent's user can read them.
struct SettingsFile: Sendable {
    /// The path of the settings file. The password files have the same path with an ending.
    let path: String

    /// Reads the run-time changes of settings from the settings file. Returns no changes if there is no file. A file
    /// that cannot be read or parsed is renamed, and the result then contains no changes either.
    func read(_ logger: Logger) -> AgentSettings {
        guard FileManager.default.fileExists(atPath: self.path) else { return AgentSettings() }
        do throws(TrackingError) {
            guard let data = FileManager.default.contents(atPath: self.path) else {
                throw TrackingError(
                    .inputUnreadable, "cannot read the settings file '\(self.path)'. Check its permissions")
            }
            return try AgentSettings(data)
        } catch {
            self.setAside(logger, because: error)
            return AgentSettings()
        }
    }

    /// Renames a settings file that cannot be read, so that a later change does not overwrite it, and logs an error. If
    /// the file cannot be renamed either, the error says so.
    private func setAside(_ logger: Logger, because reason: any Error) {
        let aside = "\(self.path).unreadable-\(Int64(TimeText.now.seconds))"
        do {
            try FileManager.default.moveItem(atPath: self.path, toPath: aside)
        } catch {
            logger.error(
                "Agent's settings file is unreadable and could not be renamed: settings changed in earlier runs have no effect, and the next change overwrites the file. Copy the file, then correct the permissions of its folder",
                metadata: ["path": "\(self.path)", "reason": "\(reason)", "renaming": "\(error)"])
            return
        }
        logger.error(
            "Agent's settings file is unreadable and was renamed: settings changed in earlier runs have no effect. Make the changes again",
            metadata: ["renamed to": "\(aside)", "reason": "\(reason)"])
    }

    /// Replaces the settings file. When this function returns, the complete new file is safely on the disk.
    func write(_ settings: AgentSettings) throws(TrackingError) {
        try OwnFile.writeSecret(try settings.encoded(), to: self.path)
    }

    /// Writes the password of a set-up link to a file of its own.
    ///
    /// - Parameter current: The path of the password file that is in use and must not be overwritten; `nil` for none.
    /// - Returns: The path of the new file.
    func write(password: String, besides current: String?) throws(TrackingError) -> String {
        let path = self.passwordFiles.first { $0 != current } ?? self.path
        try OwnFile.writeSecret(Array((password + "\n").utf8), to: path)
        return path
    }

    /// Removes the password files that set-up links created, except the one at the path `current`, which is in use.
    /// Without a path, removes all of them.
    func removePasswords(except current: String?) {
        for path in self.passwordFiles where path != current { try? FileManager.default.removeItem(atPath: path) }
    }

    /// The paths of the two files that can contain a password. A new password goes to the file that is not in use.
    private var passwordFiles: [String] { ["\(self.path).password-1", "\(self.path).password-2"] }
}
