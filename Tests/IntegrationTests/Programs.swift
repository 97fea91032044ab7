import Foundation
import TestSupport
import Testing

/// Runs the built programs as a user would, and ends them.
struct Programs {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder of the built programs, from the root of the package: `GODWIT_PROGRAMS`, or the one of the debug build.
    private static let folder = ProcessInfo.processInfo.environment["GODWIT_PROGRAMS"] ?? ".build/debug"

    struct Result {
        var code: Int32
        var output: String
        var errors: String
        var lines: [String] { self.output.split(separator: "\n").map(String.init) }
    }

    /// Starts a program of this package. Its output is written to files, so that no pipe can fill up.
    static func start(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null",
        terminal: TestTerminal? = nil
    ) throws -> RunningProgram {
        try RunningProgram(
            executable: self.root.appending(path: "\(self.folder)/\(name)"), arguments: arguments,
            environment: environment, input: terminal?.path ?? input, terminal: terminal?.path)
    }

    /// Runs a program of this package to its end.
    static func run(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null"
    ) async throws -> Result {
        try await self.start(name, arguments, environment: environment, input: input).result(within: .seconds(60))
    }

    /// The shared recordings; `nil` where they are absent.
    static var tracks: URL? {
        let given = ProcessInfo.processInfo.environment["GODWIT_TRACKS"].map { URL(filePath: $0) }
        let folder = given ?? self.root.appending(path: "../shared/tracks")
        return FileManager.default.fileExists(atPath: folder.path()) ? folder : nil
    }
}

/// A running program of this package. It is killed at the latest with its last reference.
final class RunningProgram: Sendable {
    /// The records in the part of its log that was read so far.
    let recordLog = RecordLog()
    /// The positions in the part of its output that was read so far.
    let positionLog = PositionLog()
    private let process: ChildProcess
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-test-\(UUID().uuidString)")

    /// - Parameters:
    ///   - terminal: The terminal for its output, in place of a file.
    ///   - errors: The destination of its standard error, in place of a file.
    init(
        executable: URL, arguments: [String], environment: [String: String], input: String, terminal: String? = nil,
        errors: String? = nil
    ) throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        // `swift test` sets NO_COLOR if its own output is no terminal.
        let inherited = ProcessInfo.processInfo.environment.filter {
            !$0.key.hasPrefix("GODWIT_") && $0.key != "NO_COLOR"
        }
        self.process = try ChildProcess(
            executable.path(), arguments,
            environment: inherited.merging([
                "XDG_STATE_HOME": self.folder.path(), "XDG_RUNTIME_DIR": self.folder.path(),
                "XDG_CONFIG_HOME": self.folder.path(),
            ]) {
                $1
            }.merging(environment) { $1 },
            input: input,
            output: terminal ?? self.folder.appending(path: "out").path(),
            errors: errors ?? self.folder.appending(path: "err").path())
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// Its process id.
    var id: Int32 { self.process.id }
    /// The standard output so far.
    var output: String { self.text("out") }
    /// The standard error so far.
    var errors: String { self.text("err") }

    /// Returns the standard error from byte `start` on, up to the end of its last whole line.
    func errorLines(from start: UInt64) -> Data { self.lines(of: "err", from: start) }

    /// Returns the standard output from byte `start` on, up to the end of its last whole line.
    func outputLines(from start: UInt64) -> Data { self.lines(of: "out", from: start) }

    private func lines(of name: String, from start: UInt64) -> Data {
        guard let file = try? FileHandle(forReadingFrom: self.folder.appending(path: name)) else { return Data() }
        defer { try? file.close() }
        guard (try? file.seek(toOffset: start)) != nil, let data = try? file.readToEnd(),
            let end = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return Data() }
        return data[...end]
    }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: self.folder.appending(path: name), encoding: .utf8)) ?? ""
    }

    /// Sends a signal, while it runs.
    func signal(_ number: Int32) { self.process.signal(number) }

    /// Requests the program's end, as `kill` does.
    func terminate() { self.signal(SIGTERM) }

    /// Waits until the output matches a condition.
    func wait(within limit: Duration = .seconds(120), for isThere: (String) -> Bool) async throws {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while !isThere(self.output) {
            try #require(
                ContinuousClock.now < deadline, "not seen in time: \(self.output.suffix(2000)) \(self.errors)")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until the log contains a text.
    func waitForLog(_ text: String, within limit: Duration = .seconds(120)) async throws {
        try await self.wait(within: limit) { _ in
            // Only whole lines are searched: a later call may search for the rest of a line.
            let lines = self.errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            return lines.contains { $0.contains(text) }
        }
    }

    /// Waits for the end.
    func result(within limit: Duration) async throws -> Programs.Result {
        do {
            let status = try await self.process.waitForEnd(within: limit)
            // In the format of `waitpid`, the low seven bits are the signal that ended it, and the next byte is the
            // exit code.
            let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
            return Programs.Result(code: code, output: self.output, errors: self.errors)
        } catch {
            self.process.signal(SIGKILL)
            throw TestSupportError(
                "the program did not end within \(limit): \(self.output.suffix(2000)) \(self.errors)")
        }
    }
}
