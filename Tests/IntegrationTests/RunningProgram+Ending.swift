import Foundation
import TestSupport

extension RunningProgram {
    /// Starts a program by its path.
    convenience init(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw TestSupportError("\(program) is missing: scripts/setup installs what the tests need")
        }
        try self.init(
            executable: URL(filePath: program), arguments: arguments, environment: environment, input: "/dev/null")
    }

    /// Waits until it printed a text.
    func wait(for text: String) async throws {
        try await self.wait(within: .seconds(60)) { $0.contains(text) }
    }

    /// Waits for its end.
    func result() async throws -> Programs.Result { try await self.result(within: .seconds(60)) }

    /// Ends it with a signal.
    @discardableResult
    func end(_ signal: Int32 = SIGTERM) async throws -> Programs.Result {
        self.signal(signal)
        return try await self.result()
    }
}
