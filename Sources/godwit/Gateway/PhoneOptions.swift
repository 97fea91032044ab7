import ArgumentParser
import TrackingControl
import TrackingCore
import TrackingGateway

/// Where phones send what they recorded.
struct PhoneOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A path that takes Overland's batches, beside /overland; can be repeated.", valueName: "path"))
    var overlandPath: [String] = []

    @OptionGroup var keys: OwnTracksKeyOptions

    @Option(
        help: ArgumentHelp(
            "The broker as agents reach it, mqtt[s]://host[:port]: told to an agent that is set up by its token.",
            valueName: "url"))
    var agentBroker: String?

    @Flag(help: "Also take commands from the broker, for phones: an app gets them with the answer to its next request.")
    var allowCommands = false

    func validate() throws {
        _ = try checked(self.overlandPaths)
        if let broker = self.agentBroker, !SetupRequest.isBroker(broker) {
            throw ValidationError(
                "--agent-broker is mqtt[s]://host[:port], 8 to 512 bytes, without user and password")
        }
    }

    private func overlandPaths() throws(TrackingError) -> OverlandPaths {
        var paths = OverlandPaths()
        for path in self.overlandPath { try paths.add(path) }
        return paths
    }

    /// What the gateway is told of phones.
    ///
    /// - Throws: `inputUnreadable`, `invalidConfiguration` or `invalidName` that names the file of keys.
    func configuration() throws(TrackingError) -> PhoneRoutes.Configuration {
        var configuration = PhoneRoutes.Configuration()
        configuration.overlandPaths = try self.overlandPaths()
        configuration.broker = self.agentBroker
        configuration.secrets = try self.keys.secrets()
        return configuration
    }
}
