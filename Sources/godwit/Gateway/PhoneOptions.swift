import ArgumentParser
import TrackingControl
import TrackingCore
import TrackingGateway

/// The options of a gateway for phones, and for other HTTP clients that send positions.
struct PhoneOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Accept Overland's batches at this path as well as at /overland. Repeatable.", valueName: "path",
            visibility: .hidden))
    var overlandPath: [String] = []

    @OptionGroup var keys: OwnTracksKeyOptions

    @Option(
        help: ArgumentHelp(
            "Send this broker address, mqtt[s]://host[:port], to agents that are set up with a token of the gateway.",
            valueName: "url"))
    var agentBroker: String?

    @Flag(
        help:
            "Also accept commands from the broker for phones, and let administrators send commands over HTTP. An app receives its commands in the answer to its next request."
    )
    var allowCommands = false

    func validate() throws {
        _ = try checked(self.overlandPaths)
        if let broker = self.agentBroker, !SetupRequest.isBroker(broker) {
            throw ValidationError(
                "--agent-broker must be mqtt[s]://host[:port] in 8 to 512 bytes, without user and password")
        }
    }

    private func overlandPaths() throws(TrackingError) -> OverlandPaths {
        var paths = OverlandPaths()
        for path in self.overlandPath { try paths.add(path) }
        return paths
    }

    /// Returns the gateway's settings for phones, as these options describe them.
    ///
    /// - Throws: `inputUnreadable`, `invalidConfiguration` or `invalidName` that names the file of passphrases or the
    ///   invalid entry.
    func configuration() throws(TrackingError) -> PhoneRoutes.Configuration {
        var configuration = PhoneRoutes.Configuration()
        configuration.overlandPaths = try self.overlandPaths()
        configuration.broker = self.agentBroker
        configuration.secrets = try self.keys.secrets()
        return configuration
    }
}
