import ArgumentParser
import GodwitOptions
import Logging
import TrackingCore

/// `godwit send`: sends a command through the broker to the device of each trackable, and shows the device's answer.
struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a command to the devices of trackables, and show their answers.",
        usage: "godwit send [<options>] <command> <ids> ...",
        discussion: """
            Commands: report, send-now, flush, start-trip (mode=bicycle), stop-trip, on, off, configure (KEY=VALUE), \
            track, add, remove, destination (destination=LAT,LON or none). A device accepts commands if its agent runs \
            with --allow-commands. Exit code 1: a command failed, or a device did not answer in time.

            Example:
              godwit send start-trip van-7 --argument mode=car
            """)

    @Argument(help: "The command to send.")
    var command: String

    @Argument(help: "The ids of the trackables whose devices receive the command.")
    var ids: [String]

    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    @Option(
        help: ArgumentHelp(
            "Pass this argument to the command. Repeatable. Values: true, false, a number, LAT,LON for destination, or text.",
            valueName: "key=value"))
    var argument: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Wait this many seconds for the answers; at most 3600.", valueName: "seconds"))
    var timeout = 10.0

    func validate() throws {
        guard self.timeout > 0, self.timeout <= 3600 else {
            throw ValidationError("--timeout must be above 0 and at most 3600 seconds, not \(self.timeout)")
        }
        try self.checkName()
        _ = try self.arguments()
        _ = try self.trackables()
        let command = Command(id: "x", name: self.name, time: UnixTime(0), arguments: try self.arguments())
        do throws(TrackingError) { _ = try CommandCodec.encode(command) } catch { throw ValidationError(error.message) }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let identity = try self.broker.identity()
        var generator = SystemRandomNumberGenerator()
        let now = TimeText.now
        // After that time, no program waits for the answer, so the device must not perform the command.
        let expires = now.advanced(by: .seconds(self.timeout))
        let arguments = try self.arguments()
        let commands = try self.trackables().map { id in
            let command = Command(
                id: UUIDText.random(using: &generator), name: self.name, time: now, expires: expires,
                arguments: arguments)
            return (id: id, command: command)
        }
        let state = CommandSenderState(
            root: try TopicRoot(self.broker.topicRoot), client: identity.client, commands: commands)
        let sender = CommandSender(
            transport: try self.broker.transport(identity), timeout: .seconds(self.timeout),
            failsFast: self.broker.failFast)
        try await sender.run(state)
    }

    /// The name of the command in the protocol. For example, `start-trip` on the command line becomes `START_TRIP`.
    private var name: Command.Name { Command.Name(typed: self.command) }

    /// The names of all commands for devices that this version knows, as they are written on the command line.
    private static let commands = [
        "report", "send-now", "flush", "start-trip", "stop-trip", "on", "off", "configure", "track", "add", "remove",
        "destination",
    ]

    /// Checks that the command is not a misspelt one of this version. Other words are sent, because a later version of
    /// the agent may know them.
    ///
    /// - Throws: `ValidationError` that names the similar commands.
    private func checkName() throws {
        let name = self.command.lowercased().replacing("_", with: "-")
        guard !Self.commands.contains(name) else { return }
        if let question = NearestNames(to: name, among: Self.commands).question {
            throw ValidationError("there is no command '\(self.command.printable)' for devices. \(question)")
        }
    }

    private func trackables() throws -> [TrackableID] {
        var ids: [TrackableID] = []
        for text in self.ids {
            do throws(TrackingError) {
                let id = try TrackableID(text)
                if !ids.contains(id) { ids.append(id) }
            } catch { throw ValidationError(error.message) }
        }
        return ids
    }

    private func arguments() throws -> [String: JSONValue] {
        var arguments: [String: JSONValue?] = [:]
        for text in self.argument {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("an argument must be KEY=VALUE, not '\(text)'")
            }
            guard arguments.updateValue(try self.value(parts[0], parts[1]), forKey: parts[0]) == nil else {
                throw ValidationError("the argument \(parts[0]) is given twice. Give it once")
            }
        }
        return arguments.compactMapValues { $0 }
    }

    /// Converts the value of a command's argument, `KEY=VALUE`, to JSON. Returns `nil` for `destination=none`; the
    /// command then has no such argument.
    private func value(_ key: String, _ text: String) throws -> JSONValue? {
        // The destination as a setting of `configure` has the form of the command line.
        if key == "destination", self.name == .configure { return .text(text) }
        if key == "destination" {
            if text == "none" { return nil }
            guard let place = Coordinate(argument: text) else {
                throw ValidationError("the argument destination must be LAT,LON in degrees, or none; not '\(text)'")
            }
            return .list([.number(place.longitude), .number(place.latitude)])
        }
        if key == "trackable" || key == "mode" { return .text(text) }
        switch text {
        case "true": return .flag(true)
        case "false": return .flag(false)
        default: return Double(text).flatMap { $0.isFinite ? .number($0) : nil } ?? .text(text)
        }
    }
}
