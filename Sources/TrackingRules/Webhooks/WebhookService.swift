package import Logging
import ServiceLifecycle
import TrackingCore
import TrackingHTTP
import TrackingRuntime

/// Delivers the messages of the outbox to all webhooks over one HTTP client. A slow webhook does not delay the others.
package struct WebhookService: Service {
    /// A webhook that messages are delivered to, with its metrics.
    package struct Recipient: Sendable {
        let webhook: Webhook
        let figures: WebhookFigures

        /// Creates a recipient from a webhook and the metrics of the deliveries to it.
        package init(_ webhook: Webhook, figures: WebhookFigures = WebhookFigures()) {
            self.webhook = webhook
            self.figures = figures
        }
    }

    private let recipients: [Recipient]
    private let kinds: Set<Outbox.Kind>
    private let outbox: Outbox
    private let gate: OutboxGate
    private let logger: Logger

    /// Creates a webhook service that is not running yet.
    ///
    /// - Parameters:
    ///   - recipients: The webhooks to deliver to.
    ///   - kinds: The kinds of messages that the webhooks receive.
    ///   - database: The gateway's database, with the outbox.
    ///   - gate: The gate that holds back all deliveries until it is open.
    ///   - logger: The logger for failed deliveries.
    package init(
        _ recipients: [Recipient], kinds: Set<Outbox.Kind>, database: GatewayDatabase, gate: OutboxGate, logger: Logger
    ) {
        self.recipients = recipients
        self.kinds = kinds
        self.outbox = Outbox(database)
        self.gate = gate
        self.logger = logger
    }

    /// Delivers messages to all webhooks until a graceful shutdown or cancellation.
    package func run() async throws {
        let client = HTTPClient()
        let clock = DeviceClock()
        await withTaskGroup(of: Void.self) { group in
            for recipient in self.recipients {
                group.addTask {
                    let sender = WebhookSender(
                        recipient.webhook, kinds: self.kinds, outbox: self.outbox, client: client,
                        figures: recipient.figures, logger: self.logger, now: { clock.moment.wall })
                    await sender.run(once: self.gate)
                }
            }
        }
    }
}
