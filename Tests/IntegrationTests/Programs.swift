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
        _ name: String, _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null"
    ) throws -> RunningProgram {
        try RunningProgram(
            executable: self.root.appending(path: ".build/debug/\(name)"), arguments: arguments,
            environment: environment, input: input)
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

/// A program of this package while it runs; it is killed at the latest when the last reference to it goes.
final class RunningProgram: Sendable {
    private let process: ChildProcess
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-test-\(UUID().uuidString)")

    init(executable: URL, arguments: [String], environment: [String: String], input: String = "/dev/null") throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let own = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GODWIT_") }
        self.process = try ChildProcess(
            executable.path(), arguments, output: self.folder.appending(path: "out").path(),
            errors: self.folder.appending(path: "err").path(), input: input,
            environment: own.merging(environment) { $1 })
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

    /// Waits until the output has what is looked for.
    func wait(within limit: Duration = .seconds(20), for isThere: (String) -> Bool) async throws {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while !isThere(self.output) {
            try #require(
                ContinuousClock.now < deadline,
                "not seen in time: \(self.output.suffix(2000)) \(self.errors.suffix(2000))")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until it has logged what is looked for.
    func waitForLog(_ text: String, count: Int = 1, within limit: Duration = .seconds(20)) async throws {
        try await self.wait(within: limit) { _ in self.errors.components(separatedBy: text).count > count }
    }

    /// Waits for the end.
    func result(within limit: Duration) async throws -> Programs.Result {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while self.process.isRunning {
            if ContinuousClock.now >= deadline {
                self.process.signal(SIGKILL)
                Issue.record("the program did not end within \(limit): \(self.output.suffix(2000)) \(self.errors)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        return Programs.Result(code: self.process.exitCode ?? -1, output: self.output, errors: self.errors)
    }
}
