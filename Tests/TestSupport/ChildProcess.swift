import Foundation
import Synchronization

/// A program that a test starts, with an empty signal mask.
///
/// Foundation's `Process` passes the mask of the calling thread on, and threads of the concurrency runtime block
/// SIGTERM: a program that is started from one of them would not receive the signal.
public final class ChildProcess: Sendable {
    /// The process's id.
    public let id: Int32
    private let status = Mutex<Int32?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments of the program, without the program's name.
    ///   - environment: The complete environment of the program; `nil` for the test's own.
    ///   - input: The file for the program's standard input.
    ///   - output: The file to which the program's standard output is appended.
    ///   - errors: The file to which the program's standard error is appended; `nil` for `output`.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, input: String = "/dev/null",
        output: String, errors: String? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        if let errors {
            posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        } else {
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
        // The program inherits no other descriptor of the test: a program that outlives the test must hold no lock and
        // no port.
        for descriptor in 3..<min(getdtablesize(), 2_048) { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let texts = ([program] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { $0.map { strdup("\($0)=\($1)") } + [nil] }
        defer { for text in texts + (variables ?? []) { free(text) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, program, &actions, &attributes, texts, variables ?? environ.copied)
        guard code == 0 else {
            throw TestSupportError("cannot start the program \(program): \(String(cString: strerror(code)))")
        }
        self.id = id
    }

    deinit {
        guard self.isRunning else { return }
        kill(self.id, SIGKILL)
        waitpid(self.id, nil, 0)
    }

    /// `true` while the program runs.
    public var isRunning: Bool { self.exitStatus == nil }

    /// The program's raw status from `waitpid`; `nil` while the program runs.
    public var exitStatus: Int32? {
        self.status.withLock { status in
            if let status { return status }
            var raw: Int32 = 0
            guard waitpid(self.id, &raw, WNOHANG) == self.id else { return nil }
            status = raw
            return raw
        }
    }

    /// Sends a signal to the program, if it still runs.
    public func signal(_ number: Int32) {
        if self.isRunning { kill(self.id, number) }
    }

    /// Waits for the end of the program.
    ///
    /// - Returns: The raw status; 0 is success.
    @discardableResult
    public func waitForEnd(within limit: Duration = .seconds(60)) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        while true {
            if let status = self.exitStatus { return status }
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("the program with the process id \(self.id) did not end within \(limit)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Runs a program to its end, and requires exit code 0.
    ///
    /// - Throws: `TestSupportError` with the program's output if it fails.
    public static func run(_ program: String, _ arguments: [String]) async throws {
        let output = FileManager.default.temporaryDirectory.appending(path: "godwit-output-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: output) }
        let child = try ChildProcess(program, arguments, output: output.path())
        guard try await child.waitForEnd() == 0 else {
            let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
            throw TestSupportError("\(program) \(arguments.joined(separator: " ")) failed: \(text)")
        }
    }
}

extension UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> {
    /// The pointers of the array, with the terminating null pointer.
    fileprivate var copied: [UnsafeMutablePointer<CChar>?] {
        var all: [UnsafeMutablePointer<CChar>?] = []
        while let text = self[all.count] { all.append(text) }
        return all + [nil]
    }
}
