import Foundation
import TestSupport
import Testing

/// A program that runs until the test ends it, and what it printed so far.
final class Command: Sendable {
    private let child: ChildProcess
    /// Where its output goes.
    let file = FileManager.default.temporaryDirectory.appending(path: "godwit-command-\(UUID().uuidString)")

    /// Starts a program by its path.
    init(_ program: String, _ arguments: [String]) throws {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw TestSupportError("\(program) is missing: scripts/setup installs what the tests need")
        }
        self.child = try ChildProcess(program, arguments, output: self.file.path())
    }

    /// Starts a program of this package.
    static func start(_ name: String, _ arguments: [String]) throws -> Command {
        try Command(Programs.root.appending(path: ".build/debug/\(name)").path(), arguments)
    }

    deinit { try? FileManager.default.removeItem(at: self.file) }

    /// What it printed so far.
    var output: String { (try? String(contentsOf: self.file, encoding: .utf8)) ?? "" }

    /// Waits until the output has what is looked for.
    func wait(
        for what: String, within limit: Duration = .seconds(30), until isThere: (String) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + limit
        while !isThere(self.output) {
            try #require(
                ContinuousClock.now < deadline && self.child.isRunning, "\(what) not seen: \(self.output.suffix(2000))")
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until the output has a text.
    func wait(for text: String) async throws {
        try await self.wait(for: text) { $0.contains(text) }
    }

    /// Waits for its end.
    ///
    /// - Returns: The raw status; 0 is success.
    @discardableResult
    func result() async throws -> Int32 { try await self.child.waitForEnd(within: .seconds(60)) }

    /// Ends it with a signal.
    ///
    /// - Returns: The raw status; 0 is an orderly end.
    @discardableResult
    func end(_ signal: Int32 = SIGTERM) async throws -> Int32 {
        self.child.signal(signal)
        return try await self.result()
    }
}
