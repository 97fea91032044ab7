import Foundation

/// A terminal of tmux with one program. Each terminal has a server of its own, at a socket of its own, without the user's
/// configuration. The server ends with the last reference.
public final class Tmux: Sendable {
    private let folder: URL
    private var socket: String { self.folder.appending(path: "socket").path() }

    /// Starts a program in a new terminal of this size. The terminal remains after the end of the program.
    ///
    /// - Throws: `TestSupportError` if tmux is not installed.
    public init(columns: Int, rows: Int, _ program: String, _ arguments: [String]) async throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-tmux-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let quoted = ([program] + arguments).map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
        let clean = "env -u NO_COLOR XDG_CONFIG_HOME='\(self.folder.path())' XDG_STATE_HOME='\(self.folder.path())'"
        _ = try await self.tmux([
            "-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)",
            "\(clean) \(quoted); echo ended; exec sleep 600",
        ])
    }

    deinit {
        // The session has no other program that could block the end of its server.
        if let end = try? ChildProcess("/usr/bin/tmux", ["-S", self.socket, "kill-server"], output: "/dev/null") {
            for _ in 0..<500 where end.isRunning { usleep(10_000) }
        }
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// The lines that the terminal shows now, without colours and without the spaces at their ends.
    public var lines: [String] {
        get async throws {
            try await self.tmux(["capture-pane", "-p"]).split(separator: "\n", omittingEmptySubsequences: false)
                .map(String.init)
        }
    }

    /// Presses keys, in the notation of tmux: `q`, `C-c`, `Enter`.
    public func press(_ keys: String...) async throws { _ = try await self.tmux(["send-keys"] + keys) }

    /// Waits until the lines of the terminal match a condition.
    ///
    /// - Returns: The lines.
    /// - Throws: `TestSupportError` with the screen, if it does not match in time.
    @discardableResult
    public func wait(
        within limit: Duration = .seconds(60), for isThere: ([String]) -> Bool
    ) async throws -> [String] {
        let deadline = ContinuousClock.now + limit
        while true {
            let lines = try await self.lines
            if isThere(lines) { return lines }
            guard ContinuousClock.now < deadline else {
                throw TestSupportError(
                    "the terminal did not show the expected text within \(limit):\n\(lines.joined(separator: "\n"))")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Runs a command of tmux, and returns its output.
    private func tmux(_ arguments: [String]) async throws -> String {
        let file = self.folder.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let command = try ChildProcess("/usr/bin/tmux", ["-S", self.socket] + arguments, output: file.path())
        let status = try await command.waitForEnd()
        let output = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        guard status == 0 else { throw TestSupportError("tmux \(arguments.joined(separator: " ")) failed: \(output)") }
        return output
    }
}
