import FoundationEssentials
import SystemLibrary
import TrackingCore
import TrackingRuntime

/// A program that the agent runs once for each event. The program reads the event from its standard input, and its
/// output goes to the agent's standard error. The agent starts the program directly, without a shell.
struct EventProgram: Sendable {
    /// The outcome of one run of the program for an event.
    enum Outcome: Equatable, Sendable {
        /// The program ended with exit code 0, or its exit code is unknown because the agent ignores SIGCHLD.
        case succeeded
        /// The program ended with this exit code, which is not 0.
        case exited(Int32)
        /// A signal, with this number, ended the program.
        case signalled(Int32)
        /// The agent killed the program and its child processes, because the time limit had passed or the agent was
        /// ending.
        case killed
        /// The program could not be started, for this reason.
        case notStarted(String)

        /// The description of the failure of the program that was run for an event, for the agent's log; `nil` if the
        /// program succeeded.
        var complaint: String? {
            switch self {
            case .succeeded: nil
            case .exited(let code): "the program ended with exit code \(code)"
            case .signalled(let number): "signal \(number) ended the program"
            case .killed: "the program was killed, because its time limit passed or the agent ends"
            case .notStarted(let reason): "the program cannot be started: \(reason)"
            }
        }

        /// Parses the status that `waitpid` returns: the low seven bits are the signal, the next byte is the exit code.
        init(status: Int32) {
            let signal = status & 0x7F
            let code = (status >> 8) & 0xFF
            self = signal != 0 ? .signalled(signal) : code != 0 ? .exited(code) : .succeeded
        }
    }

    /// The largest size of an event in bytes. A pipe takes so many bytes at once, so that the agent can write the event
    /// before the program reads.
    private static let maximumInput = 60_000

    /// The program to run for an event, and its arguments. A name without a slash is looked up in `PATH`.
    let words: [String]
    /// The longest time that the program may run for one event. After that, the agent kills it.
    let limit: Duration

    /// Runs the program once, and waits for its end. Kills the program when its time limit has passed, when `isOver`
    /// returns `true`, or when the task is cancelled.
    ///
    /// - Parameters:
    ///   - input: The bytes for the program's standard input.
    ///   - environment: The program's environment variables.
    ///   - signal: Announces that the result of `isOver` may have changed.
    ///   - isOver: Returns `true` if the program must end now.
    func run(
        _ input: [UInt8], environment: [String: String], signal: WakeSignal = WakeSignal(),
        isOver: @escaping @Sendable () -> Bool = { false }
    ) async -> Outcome {
        var id: pid_t = 0
        if let reason = self.start(input, environment, &id) { return .notStarted(reason) }
        let process = RunningProgram(id)
        let deadline = DeviceClock.now.advanced(by: self.limit)
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                _ = await signal.wait(until: deadline, for: isOver)
                process.kill()  // no effect on a program that has ended
            }
            let status = await process.end()
            group.cancelAll()
            if process.wasKilled { return .killed }
            // If SIGCHLD is ignored, the exit status is unknown.
            return status.map { Outcome(status: $0) } ?? .succeeded
        }
    }

    /// Starts the program with the event on its standard input.
    ///
    /// - Returns: The reason why the program could not be started; `nil` for success.
    private func start(_ input: [UInt8], _ environment: [String: String], _ id: inout pid_t) -> String? {
        var ends: [Int32] = [-1, -1]
        guard input.count <= Self.maximumInput else {
            return "the event has \(input.count) bytes, more than the limit of \(Self.maximumInput)"
        }
        guard pipe(&ends) == 0 else { return String(cString: strerror(errno)) }
        defer { close(ends[0]) }
        let written = write(ends[1], input, input.count)
        close(ends[1])
        guard written == input.count else { return "the event could not be written to the program's standard input" }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        posix_spawn_file_actions_adddup2(&actions, 2, 1)
        for descriptor in Self.descriptors { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        Self.prepare(&attributes)
        let texts = self.words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in texts + variables { free(text) } }
        let code = posix_spawnp(&id, self.words[0], &actions, &attributes, texts, variables)
        return code == 0 ? nil : String(cString: strerror(code))
    }

    /// The agent's open file descriptors, apart from the three standard streams. They are closed in the program, which
    /// must not inherit them.
    private static var descriptors: [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.filter { $0 > 2 }
    }

    /// Sets the attributes with which the program starts. The program gets a process group of its own, so that it can
    /// be killed with its children. It also gets the default handling of all signals and blocks none, although threads
    /// of the agent block some.
    private static func prepare(_ attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
    }
}
