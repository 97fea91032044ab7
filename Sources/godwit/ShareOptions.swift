import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingRecorder
import TrackingStore

/// The options for several recorders on one history. With `--standby`, one of them is active and the others wait. With
/// `--share…` they form a group, and the broker gives each message to one of them.
struct ShareOptions: ParsableArguments {
    @Flag(
        help: ArgumentHelp(
            "Wait while another recorder with the same --name and --standby is active, and take over within 20 s after it fails. Needs a history in PostgreSQL."
        ))
    var standby = false

    @Option(
        help: ArgumentHelp(
            "Share the work with the other recorders of this group, which store into one PostgreSQL and acknowledge under the group's name. Needs a share secret.",
            valueName: "group", visibility: .hidden))
    var share: String?

    @Option(
        help: ArgumentHelp(
            "Read the group's share secret from the first line of this file: 16 to 64 of A-Z a-z 0-9 _ -, the same for all recorders of the group. Or give it as GODWIT_SHARE_SECRET in the environment.",
            valueName: "path", visibility: .hidden))
    var shareSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "Join the group with this share secret. Give it as GODWIT_SHARE_SECRET, not on the command line.",
            visibility: .private))
    var shareSecret: String?

    func validate() throws {
        guard !self.standby || self.share == nil else {
            throw ValidationError(
                "--standby and --share exclude each other: with --share, all recorders of the group are active. Give one of them"
            )
        }
        do throws(TrackingError) { if let share = self.share { _ = try ClientID(share) } } catch {
            throw ValidationError(error.message)
        }
    }

    /// Checks that the history is one that several recorders can use, if an option needs that.
    ///
    /// - Throws: `invalidConfiguration` for a history in a file.
    func check(_ location: StoreLocation) throws(TrackingError) {
        guard case .sqlite = location, let option = self.standby ? "--standby" : self.share.map({ _ in "--share" })
        else { return }
        throw TrackingError(
            .invalidConfiguration,
            "\(option) needs a history in PostgreSQL, which several recorders can share. Give --store postgres://user@host/database"
        )
    }

    /// Returns the group of recorders that this recorder joins; `nil` without the option `--share`.
    ///
    /// - Throws: `invalidConfiguration` if the secret is missing or invalid; `inputUnreadable` if its file cannot be
    ///   read.
    func group() throws(TrackingError) -> RecorderGroup? {
        guard let share = self.share else { return nil }
        let filed = try self.shareSecretFile.map { (path) throws(TrackingError) in
            try SecretFile.read(path, "share secret file")
        }
        guard let secret = filed ?? self.shareSecret else {
            throw TrackingError(
                .invalidConfiguration,
                "--share needs the secret of the group: without it, any user of the broker could join the group and receive its messages. Give --share-secret-file, or GODWIT_SHARE_SECRET in the environment"
            )
        }
        return try RecorderGroup(name: ClientID(share), secret: secret)
    }
}
