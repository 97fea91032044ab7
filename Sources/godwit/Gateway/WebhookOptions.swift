import ArgumentParser
import GodwitOptions
import TrackingCore
import TrackingGateway

/// Who is told by HTTP of what happens.
struct WebhookOptions: ParsableArguments {
    @Option(
        name: .customLong("webhook"),
        help: ArgumentHelp(
            "Post what happens to this address, signed, in order, until it is taken; can be repeated. Needs a secret.",
            valueName: "url"))
    var urls: [String] = []

    @Option(
        name: .customLong("webhook-secret-file"),
        help: ArgumentHelp(
            "A file whose first line signs webhooks: 16 bytes at least. The secret itself can be in the environment, as GODWIT_WEBHOOK_SECRET.",
            valueName: "path"))
    var secretFile: String?

    @Option(
        name: .customLong("webhook-secret"),
        help: ArgumentHelp("The same, in the environment or the file of --config.", visibility: .hidden))
    var secret: String?

    @Option(
        name: .customLong("webhook-kinds"),
        help: ArgumentHelp("What is posted, of event, trip and position, separated by commas.", valueName: "kinds"))
    var kindNames = "event,trip,position"

    func validate() throws {
        for name in self.names where Outbox.Kind(rawValue: name) == nil {
            throw ValidationError("--webhook-kinds are event, trip and position, not '\(name.prefix(40))'")
        }
    }

    /// What is posted.
    var kinds: Set<Outbox.Kind> { Set(self.names.compactMap(Outbox.Kind.init)) }

    /// Who is told.
    func webhooks() throws(TrackingError) -> [Webhook] {
        guard !self.urls.isEmpty else { return [] }
        let filed = try self.secretFile.map { (path) throws(TrackingError) in
            try SecretFile.read(path, "file of --webhook-secret-file")
        }
        guard let secret = filed ?? self.secret else {
            throw TrackingError(
                .invalidConfiguration,
                "webhooks are signed: give --webhook-secret-file, or GODWIT_WEBHOOK_SECRET in the environment")
        }
        var webhooks: [Webhook] = []
        for url in self.urls {
            let webhook = try Webhook(url: url, secret: secret)
            // One that is given twice is told once.
            if !webhooks.contains(webhook) { webhooks.append(webhook) }
        }
        return webhooks
    }

    private var names: [String] { self.kindNames.split(separator: ",").map(String.init) }
}
