package import Logging
import ServiceLifecycle
package import TrackingCore
package import TrackingHTTP

/// Delivers the messages of the outbox to one webhook, in order. A delivery is repeated until the webhook accepts it,
/// and later messages wait. A single message that the webhook rejects because of its content is skipped.
package struct WebhookSender: Sendable {
    private let webhook: Webhook
    private let kinds: Set<Outbox.Kind>
    private let outbox: Outbox
    private let client: HTTPClient
    private let timeout: Duration
    private let now: @Sendable () -> UnixTime
    private let figures: WebhookFigures
    private let logger: Logger

    /// The longest pause between two deliveries to a webhook that fails.
    private static let maximumBackoff = Duration.seconds(300)

    /// Creates a sender that delivers nothing yet.
    ///
    /// - Parameters:
    ///   - webhook: The webhook to deliver to.
    ///   - kinds: The kinds of messages to deliver.
    ///   - outbox: The outbox to read the messages from.
    ///   - client: The HTTP client.
    ///   - timeout: The time limit for a request with its answer.
    ///   - figures: The metrics of the webhook.
    ///   - logger: The logger for failed deliveries.
    ///   - now: Returns the time of the wall clock, for the signatures.
    package init(
        _ webhook: Webhook, kinds: Set<Outbox.Kind>, outbox: Outbox, client: HTTPClient,
        timeout: Duration = .seconds(10), figures: WebhookFigures = WebhookFigures(),
        logger: Logger = Logger(label: "godwit.webhook"), now: @escaping @Sendable () -> UnixTime
    ) {
        self.webhook = webhook
        self.kinds = kinds
        self.outbox = outbox
        self.client = client
        self.timeout = timeout
        self.figures = figures
        self.logger = logger
        self.now = now
    }

    /// Delivers messages until a graceful shutdown or cancellation. A webhook that is used for the first time receives
    /// only the messages from then on.
    ///
    /// - Parameter gate: The gate that holds back all messages until it is open; `nil` for no gate.
    package func run(once gate: OutboxGate? = nil) async {
        await cancelWhenGracefulShutdown {
            var size = DeliverySize()
            var hasBegun = false
            var changes = self.outbox.changes().makeAsyncIterator()
            while !Task.isCancelled {
                do throws(TrackingError) {
                    if !hasBegun { try await self.outbox.begin(self.webhook.reader) }
                    hasBegun = true
                    await gate?.opened()
                    if try await !self.deliverNext(&size) { await changes.next() }
                } catch {
                    guard !Task.isCancelled else { return }
                    self.logger.error(
                        "Gateway's database could not be read or written while webhook messages were delivered: the gateway tries again, and may deliver messages twice. Free space on the disk, or follow the reason",
                        metadata: ["reason": "\(error.message)"])
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// Makes one delivery to the webhook, and pauses after a failure.
    ///
    /// - Returns: `false` when the outbox has no message to deliver.
    private func deliverNext(_ size: inout DeliverySize) async throws(TrackingError) -> Bool {
        let (entries, through) = try await self.outbox.next(
            self.webhook.reader, kinds: self.kinds, ownAlone: false, limit: Webhook.maximumMessages)
        guard !entries.isEmpty else {
            try await self.outbox.advance(self.webhook.reader, to: through)
            return false
        }
        let (body, count) = Webhook.body(entries.prefix(size.limit))
        let answer = await self.deliver(body)
        // A shutdown is no failure of the webhook.
        guard !Task.isCancelled else { return true }
        let verdict = size.answered(answer.status, count: count)
        switch verdict {
        case .accepted, .quarantined:
            let last = count == entries.count ? through : entries[count - 1].place
            if verdict == .quarantined { self.quarantine(entries[0], answer.text) }
            try await self.outbox.advance(self.webhook.reader, to: last)
        case .repeat: self.report(answer.text, size.failures)
        case .halved: break
        }
        guard verdict != .halved, size.failures > 0 else { return true }
        try? await Task.sleep(for: max(Self.backoff(after: size.failures), answer.wait))
        return true
    }

    /// The webhook's answer to a delivery: an HTTP status, or the reason for a missing answer.
    private struct Answer {
        var status: Int?
        var text: String
        /// The pause that the webhook asks for in the header `Retry-After`, at most ``maximumBackoff``; zero if it asks
        /// for none.
        var wait = Duration.zero
    }

    private func deliver(_ body: [UInt8]) async -> Answer {
        let signature = self.webhook.signature(of: body, at: self.now())
        let request = HTTPClient.Request(
            self.webhook.url, method: .post,
            headers: [
                ("content-type", "application/json"), ("user-agent", "godwit"), ("godwit-signature", signature),
            ], body: body)
        do {
            // The body is not used. It is read so that the connection can be used again.
            let answer = try await self.client.exchange(request, within: self.timeout, upTo: 64 * 1024)
            return Answer(
                status: answer.status, text: "HTTP status \(answer.status)",
                wait: min(answer.retryAfter, Self.maximumBackoff))
        } catch {
            return Answer(status: nil, text: "\(error)")
        }
    }

    private func quarantine(_ entry: Outbox.Entry, _ reason: String) {
        self.figures.countRejected()
        self.logger.warning(
            "Webhook rejected a message because of its content: the message is skipped and not delivered again. Correct the server of the webhook",
            metadata: ["webhook": "\(self.webhook)", "id": "\(entry.id)", "reason": "\(reason)"])
    }

    private func report(_ reason: String, _ failures: Int) {
        self.figures.countFailure()
        self.logger.log(
            level: failures == 1 ? .warning : .info,
            "Webhook delivery failed: the gateway repeats it after growing waits, and later messages wait. Check the server of the webhook",
            metadata: ["webhook": "\(self.webhook)", "reason": "\(reason)", "tries": "\(failures)"])
    }

    /// Returns the pause after a number of failed deliveries in a row: 1 s after the first one, then twice as long each
    /// time, at most ``maximumBackoff``, minus a random part of at most a half.
    private static func backoff(after failures: Int) -> Duration {
        let full = min(Self.maximumBackoff, .seconds(1 << min(failures - 1, 10)))
        return full / 2 + .milliseconds(Int64.random(in: 0...(full / 2).inMilliseconds))
    }
}
