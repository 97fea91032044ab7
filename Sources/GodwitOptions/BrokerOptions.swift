public import ArgumentParser
import FoundationEssentials
public import Logging
public import TrackingCore
public import TrackingMQTT

/// Where the broker is, who we are to it, and what is done when it is not there: the same for every command.
public struct BrokerOptions: ParsableArguments {
    /// The broker's address.
    @Option(
        help: ArgumentHelp(
            "The broker: mqtt[s]://[user[:password]@]host[:port]; port 1883, with mqtts 8883. Repeat it for further endpoints.",
            valueName: "url"))
    public var broker: [String] = []

    /// A file whose first line is the password.
    @Option(help: ArgumentHelp("A file whose first line is the password.", valueName: "path"))
    public var passwordFile: String?

    /// The password; given in the environment or the file rather than here.
    @Option(help: ArgumentHelp("The password. Give it as GODWIT_PASSWORD, not on the command line.", visibility: .hidden))
    public var password: String?

    /// The client id.
    @Option(
        help: ArgumentHelp(
            "The client id: 1 to 64 of A-Z a-z 0-9 _ -. Default: the user name where there is one, else random.",
            valueName: "id"))
    public var clientID: String?

    /// The topic root.
    @Option(help: ArgumentHelp("The topic root, 1 to 4 levels.", valueName: "levels"))
    public var topicRoot = "tracking"

    /// The file of trusted authorities.
    @Option(name: .customLong("ca"), help: ArgumentHelp("A PEM file of the authorities to trust with mqtts.", valueName: "path"))
    public var authorities: String?

    /// The client certificate.
    @Option(name: .customLong("cert"), help: ArgumentHelp("This client's certificate, PEM.", valueName: "path"))
    public var certificate: String?

    /// The key of the client certificate.
    @Option(name: .customLong("key"), help: ArgumentHelp("The key of --cert, PEM.", valueName: "path"))
    public var key: String?

    /// Ends instead of waiting for the broker.
    @Flag(help: "End with 69 when the broker cannot be reached, and 77 when it refuses, instead of waiting.")
    public var failFast = false

    /// The configuration file.
    @Option(
        help: ArgumentHelp(
            "A YAML file of options by their long names. The command line wins over the environment (GODWIT_BROKER for --broker), which wins over the file.",
            valueName: "path"))
    public var config: String?

    /// How much is logged.
    @Option(help: ArgumentHelp("What is logged on standard error: error, warning, info, debug, trace.", valueName: "level"))
    public var logLevel = "warning"

    /// Made by the parser.
    public init() {}

    /// Checks what can be checked without looking outside.
    public func validate() throws {
        guard Logger.Level(rawValue: self.logLevel) != nil else {
            throw ValidationError("--log-level must be error, warning, info, debug or trace, not '\(self.logLevel)'")
        }
        do throws(TrackingError) {
            _ = try TopicRoot(self.topicRoot)
            if let clientID = self.clientID { _ = try ClientID(clientID) }
            for url in self.broker { _ = try MQTTEndpoint.parse(url) }
        } catch {
            throw ValidationError(error.message)
        }
    }
}
