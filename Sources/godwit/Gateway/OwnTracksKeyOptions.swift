import ArgumentParser
import TrackingCore
import TrackingGateway

/// The option `--owntracks-keys` for the file with the passphrases of phones that encrypt their OwnTracks messages.
struct OwnTracksKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the passphrases of encrypted OwnTracks messages from this JSON file: {\"trackable\": \"passphrase\"}.",
            valueName: "path", visibility: .hidden))
    var owntracksKeys: String?

    /// Returns the passphrases in the file of `--owntracks-keys`, by trackable; empty without the option.
    ///
    /// - Throws: `inputUnreadable`, `invalidConfiguration` or `invalidName` that names the file or the entry.
    func secrets() throws(TrackingError) -> [TrackableID: OwnTracksSecret] {
        guard let path = self.owntracksKeys else { return [:] }
        let data = try InputFile.contents(of: path)
        guard let members = try? JSONValue(json: data).object else {
            throw TrackingError(
                .inputUnreadable,
                "cannot read the passphrases in '\(path)': the file is not a JSON object. Write it as {\"trackable\": \"passphrase\"}"
            )
        }
        var secrets: [TrackableID: OwnTracksSecret] = [:]
        for (name, passphrase) in members {
            guard let secret = passphrase.text.flatMap({ OwnTracksSecret(passphrase: $0) }) else {
                throw TrackingError(
                    .invalidConfiguration,
                    "the passphrase of '\(name)' in '\(path)' must be a text of 1 to 32 bytes. Use the passphrase that the phone's app has"
                )
            }
            secrets[try TrackableID(name)] = secret
        }
        return secrets
    }
}
