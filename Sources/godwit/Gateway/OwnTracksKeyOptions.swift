import ArgumentParser
import TrackingCore
import TrackingGateway

/// What opens the messages of phones that encrypt them.
struct OwnTracksKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A JSON file with the passphrases of encrypted OwnTracks messages: {\"trackable\": \"passphrase\"}.",
            valueName: "path"))
    var owntracksKeys: String?

    /// The keys of the file; none without one.
    ///
    /// - Throws: `inputUnreadable`, `invalidConfiguration` or `invalidName` that names the file.
    func secrets() throws(TrackingError) -> [TrackableID: OwnTracksSecret] {
        guard let path = self.owntracksKeys else { return [:] }
        let data = try InputFile.contents(of: path)
        guard let members = try? JSONValue(json: data).object else {
            throw TrackingError(
                .inputUnreadable,
                "the keys in '\(path)' cannot be read: the file must be a JSON object of trackables and passphrases")
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
