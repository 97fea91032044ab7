public import ArgumentParser
import FoundationEssentials
private import Glibc
public import Logging
public import ServiceLifecycle
import TrackingCore
import TrackingRuntime
import UnixSignals

/// How both programs start and end.
public enum Program {
    /// Reads the layered arguments, runs the command they name, and exits with the code that tells what came of it.
    public static func run(_ root: any ParsableCommand.Type) async {
        self.openStandardDescriptors()
        // Before anything asks how many there may be.
        DescriptorLimit.raise()
        let environment = ProcessInfo.processInfo.environment
        defer { self.finishErrors() }
        do {
            let arguments = try LayeredArguments.merge(
                Array(CommandLine.arguments.dropFirst()), environment: environment, for: root)
            var command = try root.parseAsRoot(arguments)
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
            // Who closes the output, as `head` does, has seen enough.
            if !failure.isClosed { self.end(failure.description, .outputUnwritable) }
        } catch let error as ValidationError {
            // Found by the command itself, or before the parser had it: that one says only how the root is used.
            self.end("\(error.message)\n\(self.usage(root))", .wrongUsage)
        } catch {
            self.finishErrors()
            root.exit(withError: error)
        }
    }

    /// How the command that the arguments name is used, in the parser's words.
    private static func usage(_ root: any ParsableCommand.Type) -> String {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let (command, words) = LayeredArguments.command(arguments, root)
        let name = ([root._commandName] + arguments.prefix(words)).joined(separator: " ")
        return "Usage: \(root.usageString(for: command))\n  See '\(name) --help' for more information."
    }

    /// Whatever of standard input, output and errors was closed is `/dev/null` from now on: the next file or connection that is
    /// opened would be taken for it. Output that was closed takes nothing, so that whoever has something to tell fails.
    private static func openStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free is this one; programs that are started have it too.
            _ = open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR)
        }
    }

    /// Runs a service until it ends, or until SIGINT, SIGTERM or SIGHUP (the terminal was closed) asks it to. Where SIGHUP was
    /// ignored from the start, as by `nohup`, it stays so.
    ///
    /// - Parameter other: What runs as long; it is told to end first.
    /// - Throws: What one of them throws.
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

    /// Says why on standard error and exits.
    public static func end(_ message: String, _ code: ExitCode) -> Never {
        self.complain(message)
        self.finishErrors()
        Glibc.exit(code.rawValue)
    }

    /// Says something on standard error; waits for nobody to read it.
    public static func complain(_ message: String) {
        // A reason may be a stranger's.
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
        ErrorOutput.standard.write("Error: \(lines.joined(separator: "\n"))\n")
    }

    /// Tells something on standard error that is no fault; line end included.
    public static func note(_ text: String) { ErrorOutput.standard.write(text) }

    /// The last lines are written before the program ends, unless nobody reads them.
    private static func finishErrors() {
        ErrorOutput.standard.release()
        ErrorOutput.standard.flush(within: .milliseconds(500))
    }

    /// Sends logs to standard error, from `level` on. Nobody who logs waits for a reader, and one that closes it is no reason
    /// to end.
    public static func startLogging(_ level: Logger.Level) {
        signal(SIGPIPE, SIG_IGN)
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler(label: label, stream: ErrorOutput.standard)
            handler.logLevel = level
            return handler
        }
    }
}
