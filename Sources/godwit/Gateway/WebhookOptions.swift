import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway
import TrackingRules

/// The options of a gateway for webhooks: HTTP addresses of other servers to which the gateway posts events, trips and
/// positions.
struct WebhookOptions: ParsableArguments {
    @Option(
        name: .customLong("webhook"),
        help: ArgumentHelp(
            "Post events to this address, signed and in order, each until the server accepts it. Repeatable. Needs a webhook secret.",
            valueName: "url"))
    var urls: [String] = []

    @Option(
        name: .customLong("webhook-secret-file"),
        help: ArgumentHelp(
            "Sign webhooks with the first line of this file, at least 16 bytes. Or give the secret as GODWIT_WEBHOOK_SECRET in the environment.",
            valueName: "path"))
    var secretFile: String?

    @Option(
        name: .customLong("webhook-secret"),
        help: ArgumentHelp(
            "Sign webhooks with this secret, at least 16 bytes. Give it as GODWIT_WEBHOOK_SECRET, not on the command line.",
            visibility: .private))
    var secret: String?

    @Option(
        name: .customLong("webhook-kinds"),
        help: ArgumentHelp(
            "Post these kinds, separated by commas: event, trip and position.", valueName: "kinds",
            visibility: .hidden))
    var kindNames = "event,trip,position"

    func validate() throws {
        for name in self.names where Outbox.Kind(rawValue: name) == nil {
            throw ValidationError("--webhook-kinds must be event, trip or position, not '\(name.prefix(40))'")
        }
    }

    /// The kinds of messages that the gateway posts to webhooks: any of events, trips and positions.
    var kinds: Set<Outbox.Kind> { Set(self.names.compactMap(Outbox.Kind.init)) }

    /// Returns the webhooks given by `--webhook`, each with the secret for its signature. Empty without the option.
    ///
    /// - Throws: `invalidConfiguration` without a secret and for an invalid address; `inputUnreadable` if the secret's
    ///   file cannot be read.
    func webhooks() throws(TrackingError) -> [Webhook] {
        guard !self.urls.isEmpty else { return [] }
        let filed = try self.secretFile.map { (path) throws(TrackingError) in
            try SecretFile.read(path, "webhook secret file")
        }
        guard let secret = filed ?? self.secret else {
            throw TrackingError(
                .invalidConfiguration,
                "webhooks need a secret for their signature. Give --webhook-secret-file, or GODWIT_WEBHOOK_SECRET in the environment"
            )
        }
        var webhooks: [Webhook] = []
        for url in self.urls {
            let webhook = try Webhook(url: url, secret: secret)
            // An address that is given twice is one webhook.
            if !webhooks.contains(webhook) { webhooks.append(webhook) }
        }
        return webhooks
    }

    private var names: [String] { self.kindNames.split(separator: ",").map(String.init) }
}
