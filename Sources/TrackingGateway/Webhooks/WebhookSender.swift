package import AsyncHTTPClient
package import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import ServiceLifecycle
package import TrackingCore

/// Tells one webhook everything in the outbox, in order: a delivery goes again until it is taken, and nothing goes before it. A
/// message that is refused for what it is, is set aside.
package struct WebhookSender: Sendable {
    private let webhook: Webhook
    private let kinds: Set<Outbox.Kind>
    private let outbox: Outbox
    private let client: HTTPClient
    private let patience: Duration
    private let now: @Sendable () -> UnixTime
    private let figures: WebhookFigures
    private let logger: Logger

    /// The longest wait between two tries.
    private static let longestWait = Duration.seconds(300)

    /// Makes a sender that tells nothing yet.
    ///
    /// - Parameter patience: How long an answer is waited for, and then what it says.
    package init(
        _ webhook: Webhook, kinds: Set<Outbox.Kind>, outbox: Outbox, client: HTTPClient,
        patience: Duration = .seconds(10), figures: WebhookFigures = WebhookFigures(),
        logger: Logger = Logger(label: "godwit.webhook"), now: @escaping @Sendable () -> UnixTime
    ) {
        self.webhook = webhook
        self.kinds = kinds
        self.outbox = outbox
        self.client = client
        self.patience = patience
        self.figures = figures
        self.logger = logger
        self.now = now
    }

    /// Tells until a graceful shutdown or cancellation; from the first time on, what comes.
    ///
    /// - Parameter gate: What came before is told once it is open.
    package func run(once gate: OutboxGate? = nil) async {
        await cancelWhenGracefulShutdown {
            var size = DeliverySize()
            var hasBegun = false
            while !Task.isCancelled {
                do throws(TrackingError) {
                    if !hasBegun { try await self.outbox.begin(self.webhook.reader) }
                    hasBegun = true
                    await gate?.opened()
                    try await self.deliverNext(&size)
                } catch {
                    guard !Task.isCancelled else { return }
                    self.logger.error("a webhook waits for the database", metadata: ["reason": "\(error.message)"])
                    try? await Task.sleep(for: .seconds(1))
                }
            }
        }
    }

    /// One delivery, and the wait after it.
    private func deliverNext(_ size: inout DeliverySize) async throws(TrackingError) {
        let (entries, through) = try await self.outbox.next(
            self.webhook.reader, kinds: self.kinds, ownAlone: false, limit: Webhook.maximumMessages)
        guard !entries.isEmpty else {
            try await self.outbox.told(self.webhook.reader, through: through)
            try? await Task.sleep(for: .milliseconds(100))
            return
        }
        let (body, count) = Webhook.body(entries.prefix(size.limit))
        let answer = await self.deliver(body)
        let verdict = size.answered(answer.status, count: count)
        switch verdict {
        case .taken, .setAside:
            let last = count == entries.count ? through : entries[count - 1].place
            if verdict == .setAside { self.setAside(entries[0], answer.text) }
            try await self.outbox.told(self.webhook.reader, through: last)
        case .again: self.report(answer.text, size.failures)
        case .halved: break
        }
        guard verdict != .halved, size.failures > 0 else { return }
        try? await Task.sleep(for: max(Self.wait(after: size.failures), answer.wait))
    }

    /// What became of a delivery: a status, or why there is none.
    private struct Answer {
        var status: UInt?
        var text: String
        /// How long it asks to be left alone, as far as that is heeded.
        var wait = Duration.zero
    }

    private func deliver(_ body: [UInt8]) async -> Answer {
        var request = HTTPClientRequest(url: self.webhook.url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "godwit")
        request.headers.add(name: "godwit-signature", value: self.webhook.signature(of: body, at: self.now()))
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
            let response = try await self.client.execute(request, timeout: TimeAmount(self.patience))
            await self.read(response.body)
            let wait = response.headers.first(name: "retry-after").flatMap { UInt32($0) }.map { Duration.seconds($0) }
            return Answer(
                status: response.status.code, text: "it answered \(response.status.code)",
                wait: min(wait ?? .zero, Self.longestWait))
        } catch {
            return Answer(status: nil, text: "\(error)")
        }
    }

    /// What it says does not matter; so that the connection can be used again it is read, up to an end, and not for long.
    private func read(_ body: HTTPClientResponse.Body) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await body.collect(upTo: 64 * 1024) }
            group.addTask { try? await Task.sleep(for: self.patience) }
            await group.next()
            group.cancelAll()
        }
    }

    private func setAside(_ entry: Outbox.Entry, _ reason: String) {
        self.figures.setAside()
        self.logger.warning(
            "a webhook refuses a message; it is left out",
            metadata: ["webhook": "\(self.webhook)", "id": "\(entry.id)", "reason": "\(reason)"])
    }

    private func report(_ reason: String, _ failures: Int) {
        self.figures.failed()
        self.logger.log(
            level: failures == 1 ? .warning : .info, "a webhook does not take what it is told; it is tried again",
            metadata: ["webhook": "\(self.webhook)", "reason": "\(reason)", "tries": "\(failures)"])
    }

    /// Twice as long each time, from a second on, up to an end; up to half of it is left to chance.
    private static func wait(after failures: Int) -> Duration {
        let full = min(Self.longestWait, .seconds(1 << min(failures - 1, 10)))
        return full / 2 + .milliseconds(Int64.random(in: 0...(full / 2).inMilliseconds))
    }
}

extension HTTPClient.Configuration {
    /// For webhooks: no redirect is followed, so that what is told goes nowhere else than where it was meant to, and TLS has
    /// version 1.2 at least.
    package static var webhooks: Self {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        var configuration = Self(tlsConfiguration: tls)
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(10))
        return configuration
    }
}
