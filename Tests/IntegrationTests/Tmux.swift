import Foundation
import TestSupport

/// A terminal of tmux, with a server of its own, which runs one command and then shows its output until the end of the
/// test.
final class Tmux: Sendable {
    private static let program = "/usr/bin/tmux"
    private static let mark = "-- the command has ended --"
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-tmux-\(UUID().uuidString)")
    private var socket: String { self.folder.appending(path: "socket").path() }

    /// Starts a command of the shell on a terminal of this width.
    init(columns: Int, rows: Int = 40, command: String, environment: [String: String]) async throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let size = ["-x", "\(columns)", "-y", "\(rows)"]
        let started = try await self.tmux(
            ["-f", "/dev/null", "new-session", "-d"] + size + ["\(command); echo '\(Self.mark)'; exec sleep 600"],
            environment: environment)
        guard started.code == 0 else { throw TestSupportError("tmux did not start: \(started.errors)") }
    }

    /// Returns the lines of the screen after the end of the command.
    func lines() async throws -> [String] {
        var lines: [String] = []
        try await waitUntil(within: .seconds(60)) {
            lines = try await self.tmux(["capture-pane", "-p"]).lines
            return lines.contains(Self.mark)
        }
        return lines.prefix { $0 != Self.mark }.map { String($0) }
    }

    /// Ends the terminal and the programs on it.
    func end() async throws {
        _ = try await self.tmux(["kill-server"])
        try? FileManager.default.removeItem(at: self.folder)
    }

    private func tmux(_ arguments: [String], environment: [String: String] = [:]) async throws -> Programs.Result {
        let locale = ["LC_ALL": "C.UTF-8", "TERM": "xterm"]
        return try await RunningProgram(
            Self.program, ["-S", self.socket] + arguments, environment: locale.merging(environment) { $1 }
        ).result()
    }
}
