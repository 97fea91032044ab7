import ArgumentParser
import FoundationEssentials
import TrackingCore
import TrackingGateway

/// Where phones send what they recorded.
struct PhoneOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A path that takes Overland's batches, beside /overland; can be repeated.", valueName: "path"))
    var overlandPath: [String] = []

    @Option(
        help: ArgumentHelp(
            "A JSON file with the passphrases of encrypted OwnTracks messages: {\"trackable\": \"passphrase\"}.",
            valueName: "path"))
    var owntracksKeys: String?

    @Option(
        help: ArgumentHelp(
            "The broker as agents reach it, mqtt[s]://host[:port]: told to an agent that is set up by its token.",
            valueName: "url"))
    var agentBroker: String?

    func validate() throws {
        for path in self.overlandPath where !Self.isPath(path) {
            throw ValidationError(
                "--overland-path is 1 to 200 of A-Z a-z 0-9 . _ - and / after a first /, as in /api/locations; not '\(path.prefix(80))'"
            )
        }
        if let broker = self.agentBroker, !broker.hasPrefix("mqtt://"), !broker.hasPrefix("mqtts://") {
            throw ValidationError("--agent-broker is mqtt[s]://host[:port], not '\(broker.prefix(80))'")
        }
    }

    private static func isPath(_ path: String) -> Bool {
        let isPlain = path.utf8.dropFirst().allSatisfy {
            switch UnicodeScalar($0) {
            case "A"..."Z", "a"..."z", "0"..."9", ".", "_", "-", "/": true
            default: false
            }
        }
        return path.hasPrefix("/") && isPlain && (2...200).contains(path.utf8.count)
    }

    /// What the gateway is told of phones.
    ///
    /// - Throws: `inputUnreadable`, `invalidConfiguration` or `invalidName` that names the file of keys.
    func configuration() throws(TrackingError) -> PhoneRoutes.Configuration {
        var configuration = PhoneRoutes.Configuration()
        configuration.overlandPaths += self.overlandPath.filter { $0 != "/overland" }
        configuration.broker = self.agentBroker
        if let path = self.owntracksKeys { configuration.secrets = try Self.secrets(in: path) }
        return configuration
    }

    /// Reads a file of keys.
    static func secrets(in path: String) throws(TrackingError) -> [TrackableID: OwnTracksSecret] {
        guard let data = FileManager.default.contents(atPath: path), let members = try? JSONValue(json: data).object
        else {
            throw TrackingError(
                .inputUnreadable,
                "the keys in '\(path)' cannot be read: it is a JSON object of trackables and passphrases")
        }
        var secrets: [TrackableID: OwnTracksSecret] = [:]
        for (name, passphrase) in members {
            guard let secret = passphrase.text.flatMap({ OwnTracksSecret(passphrase: $0) }) else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the passphrase of '\(name)' in '\(path)' must have 1 to 32 bytes, as in the app")
            }
            secrets[try TrackableID(name)] = secret
        }
        return secrets
    }
}
