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
    private let gate: OutboxGate
    private let figures: GatewayFigures
    private let logger: Logger

    init(
        _ configuration: GatewayConfiguration, database: GatewayDatabase, gate: OutboxGate, figures: GatewayFigures,
        logger: Logger
    ) {
        self.webhooks = configuration.webhooks
        self.kinds = configuration.webhookKinds
        self.outbox = Outbox(database)
        self.gate = gate
        self.figures = figures
        self.logger = logger
    }

    /// Tells until a graceful shutdown or cancellation.
    func run() async throws {
        let client = HTTPClient(configuration: .webhooks)
        let clock = DeviceClock()
        await withTaskGroup(of: Void.self) { group in
            for (number, webhook) in self.webhooks.enumerated() {
                group.addTask {
                    let sender = WebhookSender(
                        webhook, kinds: self.kinds, outbox: self.outbox, client: client,
                        figures: self.figures.webhook(webhook, number), logger: self.logger,
                        now: { clock.moment.wall })
                    await sender.run(once: self.gate)
                }
            }
        }
        try await client.shutdown()
    }
}
