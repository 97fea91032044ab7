import FoundationEssentials
import Glibc

/// A program that is told events, one a run: it reads the event on its standard input, and what it writes goes to the agent's
/// standard error. No shell comes between.
struct EventProgram: Sendable {
    /// What came of a run.
    enum Outcome: Equatable, Sendable {
        /// It ended with the exit code 0.
        case succeeded
        /// It ended with another one.
        case exited(Int32)
        /// A signal ended it.
        case signalled(Int32)
        /// It took too long, or the agent ends: it was killed, with what it had started.
        case killed
        /// It could not be started.
        case notStarted(String)

        /// What an operator is told; `nil` where all is well.
        var complaint: String? {
            switch self {
            case .succeeded: nil
            case .exited(let code): "it ended with the exit code \(code)"
            case .signalled(let number): "signal \(number) ended it"
            case .killed: "it was killed: it took too long, or the agent ends"
            case .notStarted(let reason): "it cannot be started: \(reason)"
            }
        }

        /// Reads what `waitpid` tells: the low seven bits are the signal, the next byte the exit code.
        init(status: Int32) {
            let signal = status & 0x7F
            let code = (status >> 8) & 0xFF
            self = signal != 0 ? .signalled(signal) : code != 0 ? .exited(code) : .succeeded
        }
    }

    /// What is written before the program starts: a pipe takes so much at once, so that nobody waits for a reader.
    private static let maximumInput = 60_000

    /// The program, looked up in `PATH` where it is no path, and its arguments.
    let words: [String]
    /// How long a run may take.
    let limit: Duration

    /// Runs it once. It is killed when the time is over, or when `isOver` says so.
    func run(
        _ input: [UInt8], environment: [String: String], isOver: @Sendable () -> Bool = { false }
    ) async -> Outcome {
        var id: pid_t = 0
        if let reason = self.start(input, environment, &id) { return .notStarted(reason) }
        let deadline = ContinuousClock.now + self.limit
        var isKilled = false
        while true {
            var status: Int32 = 0
            let ended = waitpid(id, &status, WNOHANG)
            if ended == id { return isKilled ? .killed : Outcome(status: status) }
            // Where the agent was started with SIGCHLD ignored, nobody knows how it ended.
            if ended < 0, errno != EINTR { return isKilled ? .killed : .succeeded }
            if !isKilled, isOver() || ContinuousClock.now >= deadline {
                kill(-id, SIGKILL)
                isKilled = true
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
    }

    /// - Returns: Why it could not be started; `nil` where it runs.
    private func start(_ input: [UInt8], _ environment: [String: String], _ id: inout pid_t) -> String? {
        var ends: [Int32] = [-1, -1]
        guard input.count <= Self.maximumInput else { return "the event has \(input.count) bytes" }
        guard pipe(&ends) == 0 else { return String(cString: strerror(errno)) }
        defer { close(ends[0]) }
        let written = write(ends[1], input, input.count)
        close(ends[1])
        guard written == input.count else { return "the event could not be written" }

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

    /// What the agent has open beside its standard streams: connections and files are not the program's.
    private static var descriptors: [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { Int32($0) }.filter { $0 > 2 }
    }

    /// A group of its own, so that all of it can be killed; and no signal blocked or ignored: threads of the concurrency
    /// runtime block some, and a program inherits that.
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
