import AsyncHTTPClient
import Logging
import ServiceLifecycle
import TrackingCore
import TrackingRuntime

/// Tells all webhooks, each at its own pace, over one client.
struct WebhookDesk: Service {
    private let webhooks: [Webhook]
    private let kinds: Set<Outbox.Kind>
    private let outbox: Outbox
    private let logger: Logger

    init(_ configuration: GatewayConfiguration, database: GatewayDatabase, logger: Logger) {
        self.webhooks = configuration.webhooks
        self.kinds = configuration.webhookKinds
        self.outbox = Outbox(database)
        self.logger = logger
    }

    /// Tells until a graceful shutdown or cancellation. Readers of webhooks that are not there any more are forgotten.
    func run() async throws {
        try await self.outbox.keep(readers: [RuleKeeper.topicReader] + self.webhooks.map(\.reader))
        let client = HTTPClient(configuration: .webhooks)
        let clock = DeviceClock()
        await withTaskGroup(of: Void.self) { group in
            for webhook in self.webhooks {
                group.addTask {
                    let sender = WebhookSender(
                        webhook, kinds: self.kinds, outbox: self.outbox, client: client, logger: self.logger,
                        now: { clock.moment.wall })
                    await sender.run()
                }
            }
        }
        try await client.shutdown()
    }
}
