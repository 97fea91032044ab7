import Foundation
import TestSupport
import Testing

/// Runs the built programs as a user would, and ends them.
struct Programs {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    struct Result {
        var code: Int32
        var output: String
        var errors: String
        var lines: [String] { self.output.split(separator: "\n").map(String.init) }
    }

    /// Starts a program of this package; its output goes to files, so that no pipe can fill up.
    static func start(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], terminal: PseudoTerminal? = nil
    ) throws -> RunningProgram {
        try RunningProgram(
            executable: self.root.appending(path: ".build/debug/\(name)"), arguments: arguments,
            environment: environment, terminal: terminal)
    }

    /// Runs a program of this package to its end.
    static func run(
        _ name: String, _ arguments: [String], environment: [String: String] = [:]
    ) async throws -> Result {
        try await self.start(name, arguments, environment: environment).result(within: .seconds(120))
    }

    /// The shared recordings; `nil` where they are absent.
    static var tracks: URL? {
        let given = ProcessInfo.processInfo.environment["GODWIT_TRACKS"].map { URL(filePath: $0) }
        let folder = given ?? self.root.appending(path: "../shared/tracks")
        return FileManager.default.fileExists(atPath: folder.path()) ? folder : nil
    }
}

/// A built program while it runs. It is killed at the latest when the last reference to it goes.
final class RunningProgram: Sendable {
    private let process: ChildProcess
    private let folder: URL

    /// - Parameter terminal: What it is to see as its terminal, in place of files.
    init(executable: URL, arguments: [String], environment: [String: String], terminal: PseudoTerminal? = nil) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        self.process = try ChildProcess(
            executable.path(), arguments, output: folder.appending(path: "out").path(),
            errors: folder.appending(path: "err").path(),
            // `swift test` sets NO_COLOR where its own output is no terminal.
            environment: ProcessInfo.processInfo.environment.filter {
                !$0.key.hasPrefix("GODWIT_") && $0.key != "NO_COLOR"
            }
            .merging(environment) { $1 }, terminal: terminal?.path)
    }

    deinit {
        self.process.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.folder)
    }

    var output: String { self.text("out") }
    var errors: String { self.text("err") }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: self.folder.appending(path: name), encoding: .utf8)) ?? ""
    }

    func terminate() { self.process.signal(SIGTERM) }

    /// Ends it without giving it a chance to say anything.
    func kill() { self.process.signal(SIGKILL) }

    /// Waits until the output has what is looked for.
    func wait(within limit: Duration, for isThere: (String) -> Bool) async throws {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while !isThere(self.output) {
            try #require(
                ContinuousClock.now < deadline, "not seen in time: \(self.output.suffix(2000)) \(self.errors)")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits for the end.
    func result(within limit: Duration) async throws -> Programs.Result {
        var status: Int32 = -1
        do { status = try await self.process.waitForEnd(within: limit) } catch {
            self.process.signal(SIGKILL)
            Issue.record("the program did not end within \(limit): \(self.output.suffix(2000)) \(self.errors)")
        }
        // As the shell has it: the exit code, or 128 and the signal that ended it.
        let code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
        return Programs.Result(code: code, output: self.output, errors: self.errors)
    }
}
