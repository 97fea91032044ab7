import ArgumentParser
import GodwitOptions
import TrackingControl
import TrackingCore
import TrackingMQTT

/// `godwit-agent configure KEY=VALUE…`.
struct Configure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Change settings while the agent runs; all or none of them.",
        discussion: "The keys are long options of 'run', without dashes. What changed is printed.")

    @Argument(help: ArgumentHelp("Settings.", valueName: "key=value"))
    var settings: [String]

    @OptionGroup var agent: SocketOptions

    /// The settings as arguments of a command.
    func arguments() throws -> [String: JSONValue] {
        var arguments: [String: JSONValue] = [:]
        for setting in self.settings {
            let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("a setting is KEY=VALUE, not '\(setting)'")
            }
            guard arguments.updateValue(.text(parts[1]), forKey: parts[0]) == nil else {
                throw ValidationError("\(parts[0]) is given twice")
            }
        }
        return arguments
    }

    func validate() throws { _ = try self.arguments() }

    func run() async throws {
        try ChangeList.print(await self.agent.ask(.configure, self.arguments()), standard: "nothing changed")
    }
}

/// `godwit-agent setup URL`.
struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Take over a set-up link: godwit://setup?broker=…&user=…&token=…&trackable=….",
        discussion: """
            Shows what would change and asks. What the link does not say is left alone. The token becomes the password, in a \
            file that the agent alone can read; it is never shown. A link on a command line can be read by everyone on the \
            machine: give - and it is read from standard input. Overland's link, overland://setup?url=…&token=…, is taken as \
            well: the gateway there is asked, by curl, for the broker, the user and the trackable.
            """)

    @Argument(help: ArgumentHelp("The link, or - to read it from standard input.", valueName: "url"))
    var link: String

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var agent: SocketOptions

    func run() async throws {
        let request = try await self.request(self.link == "-" ? readLine() ?? "" : self.link)
        if let broker = request.broker { _ = try MQTTEndpoint.parse(broker) }
        var trial = request.arguments
        trial["trial"] = .flag(true)
        let client = try self.agent.connect()
        try ChangeList.print(await client.ask(.setUp, trial), standard: "nothing would change")
        try Terminal.confirm("Take this over?", isYes: self.yes)
        _ = try await client.ask(.setUp, request.arguments)
        try Output.print("done\n")
    }

    private func request(_ link: String) async throws -> SetupRequest {
        guard OverlandLink.isOne(link) else { return try SetupRequest(link: link) }
        return try await GatewayIntroduction(link: OverlandLink(link: link)).fetch()
    }
}

/// Changed settings as lines.
enum ChangeList {
    /// Prints what changed, or `standard`.
    static func print(_ result: [String: JSONValue], standard: String) throws {
        let changes = (result["changes"]?.list ?? []).compactMap { SettingChange($0) }
        if changes.isEmpty { try Output.print(standard + "\n") }
        for change in changes { try Output.print(self.text(change) + "\n") }
    }

    /// A change for people.
    static func text(_ change: SettingChange) -> String {
        guard change.before != nil || change.after != nil else { return "\(change.key): replaced" }
        return StatusText.plain("\(change.key): \(change.before ?? "(not set)") -> \(change.after ?? "(not set)")")
    }
}
