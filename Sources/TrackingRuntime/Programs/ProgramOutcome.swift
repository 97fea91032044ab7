/// The outcome of one run of a child program.
package enum ProgramOutcome: Equatable, Sendable {
    /// The program ended with exit code 0, or its exit code is unknown because this program ignores SIGCHLD.
    case succeeded
    /// The program ended with this exit code, which is not 0.
    case exited(Int32)
    /// A signal, with this number, ended the program.
    case signalled(Int32)
    /// This program killed the child program and its child processes, because the time limit had passed, or because
    /// this program or the task ended.
    case killed
    /// The program could not be started, for this reason.
    case notStarted(String)

    /// The description of the failure of the program, for a log; `nil` if the program succeeded.
    package var complaint: String? {
        switch self {
        case .succeeded: nil
        case .exited(let code): "the program ended with exit code \(code)"
        case .signalled(let number): "signal \(number) ended the program"
        case .killed: "the program was killed, because its time limit passed or the agent ends"
        case .notStarted(let reason): "the program cannot be started: \(reason)"
        }
    }

    /// Parses the status that `waitpid` returns: the low seven bits are the signal, the next byte is the exit code.
    package init(status: Int32) {
        let signal = status & 0x7F
        let code = (status >> 8) & 0xFF
        self = signal != 0 ? .signalled(signal) : code != 0 ? .exited(code) : .succeeded
    }
}
