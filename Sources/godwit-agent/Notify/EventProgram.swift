import SystemLibrary
import TrackingCore
import TrackingRuntime

/// A program that the agent runs once for each event. The program reads the event from its standard input, and its
/// output goes to the agent's standard error. The agent starts the program directly, without a shell.
struct EventProgram: Sendable {
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
    ) async -> ProgramOutcome {
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
            return status.map { ProgramOutcome(status: $0) } ?? .succeeded
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

        return ChildProgram.start(self.words, environment: environment, input: ends[0], output: 2, errors: 2, id: &id)
    }
}
