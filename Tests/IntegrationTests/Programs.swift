import Foundation
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
        _ name: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws -> RunningProgram {
        try RunningProgram(
            executable: self.root.appending(path: ".build/debug/\(name)"), arguments: arguments, environment: environment)
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

final class RunningProgram: @unchecked Sendable {  // Process is used by one test at a time.
    private let process = Process()
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-test-\(UUID().uuidString)")

    init(executable: URL, arguments: [String], environment: [String: String]) throws {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        for name in ["out", "err"] {
            _ = FileManager.default.createFile(atPath: self.folder.appending(path: name).path(), contents: nil)
        }
        self.process.executableURL = executable
        self.process.arguments = arguments
        self.process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GODWIT_") }
            .merging(environment) { $1 }
        self.process.standardInput = FileHandle.nullDevice
        self.process.standardOutput = try FileHandle(forWritingTo: self.folder.appending(path: "out"))
        self.process.standardError = try FileHandle(forWritingTo: self.folder.appending(path: "err"))
        try self.process.run()
    }

    deinit {
        if self.process.isRunning { kill(self.process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: self.folder)
    }

    var output: String { self.text("out") }

    private func text(_ name: String) -> String {
        (try? String(contentsOf: self.folder.appending(path: name), encoding: .utf8)) ?? ""
    }

    func terminate() { self.process.terminate() }

    /// Waits until the output has what is looked for.
    func wait(within limit: Duration, for isThere: (String) -> Bool) async throws {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while !isThere(self.output) {
            try #require(ContinuousClock.now < deadline, "not seen in time: \(self.output.suffix(2000)) \(self.text("err"))")
            await Task.yield()
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits for the end.
    func result(within limit: Duration) async throws -> Programs.Result {
        let deadline = ContinuousClock.now.advanced(by: limit)
        while self.process.isRunning {
            if ContinuousClock.now >= deadline {
                kill(self.process.processIdentifier, SIGKILL)
                Issue.record("the program did not end within \(limit): \(self.output.suffix(2000)) \(self.text("err"))")
                break
            }
            try await Task.sleep(for: .milliseconds(20))
        }
        self.process.waitUntilExit()
        return Programs.Result(code: self.process.terminationStatus, output: self.output, errors: self.text("err"))
    }
}
