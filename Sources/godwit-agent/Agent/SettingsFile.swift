import FoundationEssentials
import GodwitOptions
import Logging
import TrackingControl
import TrackingCore

/// Where an agent keeps its settings and the passwords that set-up links brought: beside its log, for itself alone.
struct SettingsFile: Sendable {
    /// The file; the passwords' begin with the same name.
    let path: String

    /// What was kept; nothing where there is no such file, or one that cannot be read, which is set aside.
    func read(_ logger: Logger) -> AgentSettings {
        guard FileManager.default.fileExists(atPath: self.path) else { return AgentSettings() }
        do throws(TrackingError) {
            guard let data = FileManager.default.contents(atPath: self.path) else {
                throw TrackingError(.inputUnreadable, "'\(self.path)' cannot be read")
            }
            return try AgentSettings(data)
        } catch {
            self.setAside(logger, because: error)
            return AgentSettings()
        }
    }

    /// Gives the file another name, so that nothing is written over what may still be of use.
    private func setAside(_ logger: Logger, because reason: any Error) {
        let aside = "\(self.path).unreadable-\(Int64(TimeText.now.seconds))"
        try? FileManager.default.moveItem(atPath: self.path, toPath: aside)
        logger.error(
            "what was changed while the agent ran is not in force any more; the file was set aside",
            metadata: ["file": "\(aside)", "reason": "\(reason)"])
    }

    /// Keeps these, durably and as a whole.
    func write(_ settings: AgentSettings) throws(TrackingError) {
        try OwnFile.writeSecret(try settings.encoded(), to: self.path)
    }

    /// Keeps a password in a file of its own.
    ///
    /// - Parameter current: The password file in force, which stays as it is.
    /// - Returns: The new file.
    func write(password: String, besides current: String?) throws(TrackingError) -> String {
        let path = self.passwordFiles.first { $0 != current } ?? self.path
        try OwnFile.writeSecret(Array((password + "\n").utf8), to: path)
        return path
    }

    /// Removes the passwords that are not in force.
    func removePasswords(except current: String?) {
        for path in self.passwordFiles where path != current { try? FileManager.default.removeItem(atPath: path) }
    }

    /// Two, so that a new one can be there before the old one is not needed any more.
    private var passwordFiles: [String] { ["\(self.path).password-1", "\(self.path).password-2"] }
}
