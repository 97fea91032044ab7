import FoundationEssentials
import GodwitOptions
import Logging
import TrackingControl
import TrackingCore

/// The file of an agent's run-time changes, and the files of passwords from set-up links. They are in the folder of the
/// log, readable by the agent's user alone.
struct SettingsFile: Sendable {
    /// The path of the settings file. The names of the password files begin with it.
    let path: String

    /// Reads the run-time changes; empty without a file. A file that cannot be read is renamed, and the changes are
    /// empty.
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

    /// Renames the unreadable settings file, so that its content is not overwritten.
    private func setAside(_ logger: Logger, because reason: any Error) {
        let aside = "\(self.path).unreadable-\(Int64(TimeText.now.seconds))"
        try? FileManager.default.moveItem(atPath: self.path, toPath: aside)
        logger.error(
            "Settings file unreadable: changes made at run time are no longer in effect",
            metadata: ["renamed to": "\(aside)", "reason": "\(reason)"])
    }

    /// Replaces the settings file. When this function returns, the new content is complete and on the disk.
    func write(_ settings: AgentSettings) throws(TrackingError) {
        try OwnFile.writeSecret(try settings.encoded(), to: self.path)
    }

    /// Writes the password of a set-up link to a file of its own.
    ///
    /// - Parameter current: The path of the password file in effect, which is not overwritten; `nil` for none.
    /// - Returns: The path of the new file.
    func write(password: String, besides current: String?) throws(TrackingError) -> String {
        let path = self.passwordFiles.first { $0 != current } ?? self.path
        try OwnFile.writeSecret(Array((password + "\n").utf8), to: path)
        return path
    }

    /// Removes the password files of set-up links except the one in effect.
    func removePasswords(except current: String?) {
        for path in self.passwordFiles where path != current { try? FileManager.default.removeItem(atPath: path) }
    }

    /// The paths of the two possible password files. There are two because a new password is written while the old one
    /// is still in effect.
    private var passwordFiles: [String] { ["\(self.path).password-1", "\(self.path).password-2"] }
}
