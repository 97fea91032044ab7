import Foundation

extension MosquittoProcess {
    /// Starts a broker that accepts only these users, with the given passwords.
    ///
    /// - Parameters:
    ///   - passwords: The password of each user.
    ///   - extra: Further lines of the broker's configuration.
    public static func start(passwords: [String: String], extra: [String] = []) async throws -> MosquittoProcess {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-passwords-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try await Self.write(passwords, to: file)
        return try await Self.start { port, directory in
            let own = directory.appending(path: "passwords")
            if !FileManager.default.fileExists(atPath: own.path()) {
                try FileManager.default.copyItem(at: file, to: own)
            }
            return
                (["listener \(port) 127.0.0.1", "allow_anonymous false", "password_file \(own.path())"] + extra)
                .joined(separator: "\n")
        }
    }

    /// Replaces the passwords of a broker that was started with passwords, and returns when the broker has read them.
    /// Mosquitto then ends the connections of the clients whose passwords are not valid any more.
    public func replacePasswords(_ passwords: [String: String]) async throws {
        let own = self.directory.appending(path: "passwords")
        let new = self.directory.appending(path: "passwords-new")
        try await Self.write(passwords, to: new)
        try FileManager.default.removeItem(at: own)
        try FileManager.default.moveItem(at: new, to: own)
        let before = self.log.components(separatedBy: "Reloading config").count - 1
        self.reload()
        try await self.waitForLog("Reloading config", count: before + 1)
    }

    private static func write(_ passwords: [String: String], to file: URL) async throws {
        let lines = passwords.map { "\($0.key):\($0.value)\n" }
        try lines.joined().write(to: file, atomically: false, encoding: .utf8)
        try await ChildProcess.run("/usr/bin/env", ["mosquitto_passwd", "-U", file.path()])
    }
}
