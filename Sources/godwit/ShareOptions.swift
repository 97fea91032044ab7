import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingRecorder

/// The group of recorders that share the messages of the broker.
struct ShareOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Share the work with the recorders of this group, which store into one PostgreSQL and acknowledge under the group's name. Needs a share secret.",
            valueName: "group"))
    var share: String?

    @Option(
        help: ArgumentHelp(
            "A file whose first line is the share secret of the group: 16 to 64 of A-Z a-z 0-9 _ -, the same for all its recorders. The secret itself can be in the environment, as GODWIT_SHARE_SECRET.",
            valueName: "path"))
    var shareSecretFile: String?

    @Option(
        help: ArgumentHelp("The same, in the environment or the file of --config.", visibility: .hidden))
    var shareSecret: String?

    func validate() throws {
        do throws(TrackingError) { if let share = self.share { _ = try ClientID(share) } } catch {
            throw ValidationError(error.message)
        }
    }

    /// The group; `nil` for a recorder of its own.
    ///
    /// - Throws: `invalidConfiguration` where the secret is missing or invalid, `inputUnreadable` for its file.
    func group() throws(TrackingError) -> RecorderGroup? {
        guard let share = self.share else { return nil }
        let filed = try self.shareSecretFile.map { (path) throws(TrackingError) in
            try SecretFile.read(path, "file of --share-secret-file")
        }
        guard let secret = filed ?? self.shareSecret else {
            throw TrackingError(
                .invalidConfiguration,
                "--share needs the secret of the group, or any user of the broker could join it and take messages away: give --share-secret-file, or GODWIT_SHARE_SECRET in the environment"
            )
        }
        return try RecorderGroup(name: ClientID(share), secret: secret)
    }
}
