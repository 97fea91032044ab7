public import ArgumentParser
import FoundationEssentials
private import SystemLibrary
import TrackingCore
import TrackingRuntime

/// The command line of the program that prints the password at the broker (`--password-command`): its name or path and
/// its arguments, separated by spaces. Quotes have no special meaning, and no shell is involved.
public struct PasswordCommand: Hashable, Sendable, ExpressibleByArgument {
    let words: [String]

    /// The longest time that the program may run.
    static let limit: Duration = .seconds(10)
    /// The largest size of the program's output in bytes. It is the largest size of a password that MQTT can send.
    static let maximumOutput = 65_535
    /// The largest size of an error line of the program, in bytes, that an error message repeats.
    private static let maximumComplaint = 200

    /// Splits the text of `--password-command` at spaces into the program and its arguments; returns `nil` if the text
    /// contains no word.
    public init?(argument: String) {
        self.words = argument.split(whereSeparator: \.isWhitespace).map(String.init)
        if self.words.isEmpty { return nil }
    }

    /// Runs the program and returns the first line of its output, the password. The program reads nothing from its
    /// standard input. It gets the environment of this process without the variables that begin with `GODWIT_`, and the
    /// user in `GODWIT_USER`. It is killed when its time limit has passed, or when the task is cancelled.
    ///
    /// - Parameters:
    ///   - user: The user that signs in at the broker.
    ///   - limit: The longest time that the program may run.
    /// - Throws: `inputUnreadable` if the program cannot be started, does not end in time, ends with another exit code
    ///   than 0, or prints no password or too much. The message repeats the last line of the program's standard error,
    ///   unless that line contains the password.
    func password(of user: String, within limit: Duration = Self.limit) async throws(TrackingError) -> String {
        let run = await self.run(user, limit)
        let line = run.output.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        let password = String(decoding: line, as: UTF8.self)
        switch run.outcome {
        case .killed where run.output.count > Self.maximumOutput:
            throw self.error("it printed more than \(Self.maximumOutput) bytes")
        case .killed:
            throw self.error("it did not end within \(limit), and was killed")
        case .notStarted, .exited, .signalled:
            throw self.error((run.outcome.complaint ?? "") + Self.complaint(run.errors, hiding: password))
        case .succeeded where run.output.count > Self.maximumOutput:
            throw self.error("it printed more than \(Self.maximumOutput) bytes")
        case .succeeded where password.isEmpty:
            throw self.error("the first line of its output is empty")
        case .succeeded:
            return password
        }
    }

    private struct Run {
        var outcome: ProgramOutcome
        var output: [UInt8] = []
        var errors: [UInt8] = []
    }

    private func run(_ user: String, _ limit: Duration) async -> Run {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GODWIT_") }
        environment["GODWIT_USER"] = user
        guard let output = OutputPipe(), let errors = OutputPipe() else {
            return Run(outcome: .notStarted("the system has no free file descriptor"))
        }
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(input) }
        var id: pid_t = 0
        let reason = ChildProgram.start(
            self.words, environment: environment, input: input, output: output.writing, errors: errors.writing, id: &id)
        output.closeWriting()
        errors.closeWriting()
        if let reason { return Run(outcome: .notStarted(reason)) }
        return await Self.finish(RunningProgram(id), output, errors, limit)
    }

    /// Reads the output of a program until it ends, and kills it at its time limit or when it prints too much.
    private static func finish(
        _ program: RunningProgram, _ output: OutputPipe, _ errors: OutputPipe, _ limit: Duration
    ) async -> Run {
        await withTaskCancellationHandler {
            async let printed = output.read(keepingFirst: self.maximumOutput + 1) { program.kill() }
            async let complaints = errors.read(keepingLast: 4_096)
            // Unstructured: it is cancelled when the program ends, and nothing waits for it.
            let alarm = Task {
                try await Task.sleep(for: limit, clock: .continuous)
                program.kill()
            }
            let status = await program.end()
            alarm.cancel()
            // A child process of the program may still have the pipes open.
            output.programEnded()
            errors.programEnded()
            let outcome = status.map { ProgramOutcome(status: $0) } ?? .succeeded
            return await Run(outcome: program.wasKilled ? .killed : outcome, output: printed, errors: complaints)
        } onCancel: {
            program.kill()
        }
    }

    private func error(_ reason: String) -> TrackingError {
        TrackingError(
            .inputUnreadable,
            "cannot get the password for the broker from '\(self.words[0].printable)' (--password-command): \(reason)")
    }

    /// Returns the last line of a program's standard error, as an addition to an error message. The line is left out if
    /// it contains the password.
    private static func complaint(_ errors: [UInt8], hiding password: String) -> String {
        let lines = String(decoding: errors, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let last = lines.last(where: { !$0.allSatisfy(\.isWhitespace) }),
            password.isEmpty || !last.contains(password)
        else { return "" }
        return ": " + String(decoding: last.utf8.prefix(self.maximumComplaint), as: UTF8.self).printable
    }
}

/// A pipe from which this process reads the output of a program.
private final class OutputPipe: Sendable {
    /// The descriptor to which the program writes.
    let writing: Int32
    private let reading: Int32
    private let waiter = Waiter()

    /// Makes a pipe; `nil` if the system has no free file descriptor.
    init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (self.reading, self.writing) = (ends[0], ends[1])
    }

    deinit { close(self.reading) }

    /// Closes this process's copy of the writing end, after the program was started or could not be started.
    func closeWriting() { close(self.writing) }

    /// Ends ``read(keepingFirst:whenFull:)`` and ``read(keepingLast:)`` as soon as they have read the bytes that the
    /// program has written.
    func programEnded() { self.waiter.signal(.news) }

    /// Reads the output to its end and returns its first bytes.
    ///
    /// - Parameters:
    ///   - limit: The number of bytes to return at most.
    ///   - whenFull: Called when this number is reached.
    func read(keepingFirst limit: Int, whenFull: @Sendable () -> Void) async -> [UInt8] {
        var bytes: [UInt8] = []
        await self.read { chunk in
            guard bytes.count < limit else { return }
            bytes += chunk.prefix(limit - bytes.count)
            if bytes.count == limit { whenFull() }
        }
        return bytes
    }

    /// Reads the output to its end and returns its last bytes, at most `limit`.
    func read(keepingLast limit: Int) async -> [UInt8] {
        var bytes: [UInt8] = []
        await self.read { chunk in bytes = Array((bytes + chunk).suffix(limit)) }
        return bytes
    }

    private func read(_ take: (ArraySlice<UInt8>) -> Void) async {
        let channel = ByteChannel(self.reading, name: "the program's output", waiter: self.waiter, isOwned: false)
        var hasEnded = false
        while true {
            switch try? await channel.read(until: hasEnded ? DeviceClock.now : nil) {
            case .bytes(let chunk): take(chunk)
            case .news: hasEnded = true
            case .end, .quiet, nil: return
            }
        }
    }
}
