import Glibc

/// A program that a benchmark starts and ends by its id.
public struct ChildProcess: Sendable {
    /// The id of the program's process.
    public let id: Int32

    /// Starts a program with an empty signal mask and no descriptors but the first three.
    ///
    /// - Parameter isQuiet: `true` discards the program's output; `false` writes it to the benchmark's standard error.
    public init(_ program: String, _ arguments: [String], isQuiet: Bool = false) throws {
        // The program must not inherit other descriptors of the benchmark, such as a lock of its caller.
        for descriptor: Int32 in 3..<256 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if isQuiet { posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) }
        posix_spawn_file_actions_adddup2(&actions, 2, 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let texts = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for text in texts { free(text) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, program, &actions, &attributes, texts, environ)
        guard code == 0 else {
            throw BenchmarkError("cannot start the program \(program): \(String(cString: strerror(code)))")
        }
        self.id = id
    }

    /// `true` if the program has ended. Its end is not collected by this property.
    public var hasEnded: Bool {
        var facts = siginfo_t()
        let code = waitid(P_PID, id_t(self.id), &facts, WEXITED | WNOHANG | WNOWAIT)
        return code == 0 && facts.si_signo != 0
    }

    /// Sends a signal to the program, waits for its end, and returns its status as `waitpid` reports it. Call this
    /// once.
    @discardableResult
    public func end(_ signal: Int32) -> Int32 {
        kill(self.id, signal)
        return self.waitForEnd()
    }

    /// Waits for the end of the program, and returns its status as `waitpid` reports it. Call this once.
    @discardableResult
    public func waitForEnd() -> Int32 {
        var status: Int32 = 0
        waitpid(self.id, &status, 0)
        return status
    }
}
