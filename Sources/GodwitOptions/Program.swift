public import ArgumentParser
import FoundationEssentials
private import SystemLibrary
public import Logging
public import ServiceLifecycle
import TrackingCore
import TrackingRuntime
import UnixSignals

/// The start and the end of the programs `godwit` and `godwit-agent`, and their output to standard error.
public enum Program {
    /// Runs the command that the arguments of this process name. If the command fails, the process exits with the exit
    /// code of the error. Options from the environment and the configuration file complete the arguments.
    public static func run(_ root: any ParsableCommand.Type) async {
        self.openStandardDescriptors()
        // The limit of open files is raised before any part of the program reads it.
        DescriptorLimit.raise()
        let environment = ProcessInfo.processInfo.environment
        defer { self.finishErrors() }
        do {
            var command = try self.command(
                Array(CommandLine.arguments.dropFirst()), environment: environment, of: root)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as TrackingError {
            self.end(error.message, error.exitCode)
        } catch let error as ConfigurationFileError {
            self.end(error.description, .inputUnreadable)
        } catch let failure as Output.Failure {
            // The reader closed the output, as `head` does: not a fault.
            if !failure.isClosed { self.end(failure.description, .outputUnwritable) }
        } catch let error as ValidationError {
            // The error came from a command's `run()` or from merging the options. The parser would print the usage of
            // the root command alone for it.
            self.end("\(error.message)\n\(self.usage(root))", .wrongUsage)
        } catch {
            self.finishErrors()
            root.exit(withError: error)
        }
    }

    /// Returns the command that the arguments name, with its options from all sources.
    ///
    /// - Throws: The errors of ``LayeredArguments/merge(_:environment:for:)`` and of the parser. If the parser rejects
    ///   the arguments, and their first word resembles a subcommand, a `ValidationError` that suggests the subcommand.
    static func command(
        _ arguments: [String], environment: [String: String], of root: any ParsableCommand.Type
    ) throws -> any ParsableCommand {
        try CommandNames.check(arguments, for: root)
        let merged = try LayeredArguments.merge(arguments, environment: environment, for: root)
        do {
            return try root.parseAsRoot(merged)
        } catch {
            guard root.exitCode(for: error) == .validationFailure,
                let question = CommandNames.question(for: arguments, root: root)
            else { throw error }
            throw ValidationError("\(root.message(for: error)). \(question)")
        }
    }

    /// Returns the usage text of the command that the arguments name.
    private static func usage(_ root: any ParsableCommand.Type) -> String {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let (command, words) = LayeredArguments.command(arguments, root)
        let name = ([root._commandName] + arguments.prefix(words)).joined(separator: " ")
        return "Usage: \(root.usageString(for: command))\n  See '\(name) --help' for more information."
    }

    /// Opens `/dev/null` in place of each closed standard descriptor (input, output, error). Otherwise the next opened
    /// file would get the descriptor's number. Writing to a standard output that was closed still fails.
    private static func openStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free number, which is this descriptor. Child programs inherit it.
            _ = open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR)
        }
    }

    /// Runs a service, and a second one if given, until one of them ends, or until SIGINT, SIGTERM or SIGHUP (a closed
    /// terminal) asks them to end. SIGHUP is ignored if it was already ignored at the start, as under `nohup`.
    ///
    /// - Parameters:
    ///   - service: The service to run.
    ///   - other: A second service to run at the same time. On shutdown, it is the first to be shut down.
    /// - Throws: The error with which either service failed.
    public static func run(_ service: some Service, beside other: (any Service)? = nil) async throws {
        let services = [service as any Service] + (other.map { [$0] } ?? [])
        let configuration = ServiceGroupConfiguration(
            services: services.map {
                .init(
                    service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .cancelGroup)
            }, gracefulShutdownSignals: self.isHangUpIgnored ? [.sigint, .sigterm] : [.sigint, .sigterm, .sighup],
            logger: Logger(label: "godwit"))
        try await ServiceGroup(configuration: configuration).run()
    }

    private static var isHangUpIgnored: Bool {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Writes an error message to standard error and ends the program with an exit code.
    public static func end(_ message: String, _ code: ExitCode) -> Never {
        self.complain(message)
        self.finishErrors()
        SystemLibrary.exit(code.rawValue)
    }

    /// Writes an error message, after the prefix `Error: `, to standard error. Returns at once, without waiting for the
    /// reader.
    public static func complain(_ message: String) {
        // The message may contain text from other programs, so control characters are escaped.
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
        ErrorOutput.standard.write("Error: \(lines.joined(separator: "\n"))\n")
    }

    /// Writes a note to standard error; a note is not an error. The text must include its line end.
    public static func note(_ text: String) { ErrorOutput.standard.write(text) }

    /// Writes the waiting lines to standard error before the program ends. Blocks for half a second at most.
    private static func finishErrors() {
        ErrorOutput.standard.release()
        ErrorOutput.standard.flush(within: .milliseconds(500))
    }

    /// Starts logging to standard error. Messages below the given level are dropped. Logging never waits for the
    /// reader, and the program continues if the reader closes standard error.
    public static func startLogging(_ level: Logger.Level) {
        signal(SIGPIPE, SIG_IGN)
        let form = LogLine.Form.of(STDERR_FILENO, ProcessInfo.processInfo.environment)
        LoggingSystem.bootstrap { label in LineLogHandler(label: label, level: level, form: form) }
    }
}
