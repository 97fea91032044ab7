import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT

/// `godwit-agent configure KEY=VALUE…`: changes settings of the running agent.
struct Configure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change settings while the agent runs: all of them, or none if one is invalid.",
        discussion: """
            The keys are the long names of the options of 'run', without dashes. The command prints the changes.

            Example:
              godwit-agent configure minimum-distance=5 batch-size=500
            """)

    @Argument(help: ArgumentHelp("The settings to change.", valueName: "key=value"))
    var settings: [String]

    @OptionGroup var agent: SocketOptions

    /// Returns the settings from the command line as the arguments of the protocol's CONFIGURE command.
    ///
    /// - Throws: `ValidationError` for a setting that is not KEY=VALUE or is given twice.
    func arguments() throws -> [String: JSONValue] {
        var arguments: [String: JSONValue] = [:]
        for setting in self.settings {
            let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("a setting must be KEY=VALUE, not '\(setting)'")
            }
            guard arguments.updateValue(.text(parts[1]), forKey: parts[0]) == nil else {
                throw ValidationError("the setting \(parts[0]) is given twice. Give it once")
            }
        }
        return arguments
    }

    func validate() throws { _ = try self.arguments() }

    func run() async throws {
        try ChangeList.print(await self.agent.ask(.configure, self.arguments()), standard: "nothing changed")
    }
}

/// `godwit-agent setup URL`: shows the changes of a set-up link, and makes them after a confirmation.
struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Apply a set-up link: godwit://setup?broker=…&user=…&token=…&trackable=….",
        discussion: """
            The command shows the changes and asks for confirmation. Settings that the link does not name remain. The \
            token becomes the password, in a file that only the agent can read; it is never shown. Everyone on the \
            machine can read a link on a command line: give - to read it from standard input. With Overland's link, \
            overland://setup?url=…&token=…, the command asks that gateway, by curl, for the broker, the user and the \
            trackable.

            Example:
              godwit-agent setup -
            """)

    @Argument(help: ArgumentHelp("The set-up link; - to read it from standard input.", valueName: "url"))
    var link: String

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @OptionGroup var agent: SocketOptions

    func run() async throws {
        let request = try await self.request(self.link == "-" ? readLine() ?? "" : self.link)
        if let broker = request.broker { _ = try MQTTEndpoint.parse(broker) }
        var trial = request.arguments
        trial["trial"] = .flag(true)
        let client = try self.agent.connect()
        try ChangeList.print(await client.ask(.setUp, trial), standard: "nothing would change")
        try Terminal.confirm("Apply these changes?", isYes: self.yes)
        _ = try await client.ask(.setUp, request.arguments)
        try Output.print("done\n")
    }

    private func request(_ link: String) async throws -> SetupRequest {
        guard OverlandLink.isOne(link) else { return try SetupRequest(link: link) }
        return try await GatewayIntroduction(link: OverlandLink(link: link)).fetch()
    }
}

/// Converts lists of changed settings to text for people.
enum ChangeList {
    /// Prints one line for each changed setting in the agent's answer. Prints the text `standard` if nothing changed.
    static func print(_ result: [String: JSONValue], standard: String) throws {
        let changes = (result["changes"]?.list ?? []).compactMap { SettingChange($0) }
        if changes.isEmpty { try Output.print(standard + "\n") }
        for change in changes { try Output.print(self.text(change) + "\n") }
    }

    /// Returns one line of text for people about a changed setting: its name, its old value and its new value.
    static func text(_ change: SettingChange) -> String {
        guard change.before != nil || change.after != nil else { return "\(change.key): replaced" }
        return StatusText.plain("\(change.key): \(change.before ?? "(not set)") -> \(change.after ?? "(not set)")")
    }
}
