package import AsyncHTTPClient
package import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle
package import TrackingCore

/// Tells one webhook everything in the outbox, in order: a delivery goes again until it is taken, and nothing goes before it.
package struct WebhookSender: Sendable {
    private let webhook: Webhook
    private let kinds: Set<Outbox.Kind>
    private let outbox: Outbox
    private let client: HTTPClient
    private let now: @Sendable () -> UnixTime
    private let logger: Logger

    /// How long an answer is waited for.
    private static let patience = TimeAmount.seconds(10)
    /// The longest wait between two tries.
    private static let longestWait = Duration.seconds(300)

    /// Makes a sender that tells nothing yet.
    package init(
        _ webhook: Webhook, kinds: Set<Outbox.Kind>, outbox: Outbox, client: HTTPClient,
        logger: Logger = Logger(label: "godwit.webhook"), now: @escaping @Sendable () -> UnixTime
    ) {
        self.webhook = webhook
        self.kinds = kinds
        self.outbox = outbox
        self.client = client
        self.logger = logger
        self.now = now
    }

    /// Tells until a graceful shutdown or cancellation; from the first time on, what comes.
    package func run() async {
        await cancelWhenGracefulShutdown {
            var failures = 0
            var hasBegun = false
            while !Task.isCancelled {
                do {
                    if !hasBegun { try await self.outbox.begin(self.webhook.reader) }
                    hasBegun = true
                    let isMore = try await self.deliverNext()
                    failures = 0
                    if !isMore { try? await Task.sleep(for: .milliseconds(100)) }
                } catch {
                    failures += 1
                    self.report(error, failures)
                    try? await Task.sleep(for: Self.wait(after: failures))
                }
            }
        }
    }

    /// - Returns: Whether there was something.
    private func deliverNext() async throws -> Bool {
        let (entries, through) = try await self.outbox.next(
            self.webhook.reader, kinds: self.kinds, ownAlone: false, limit: Webhook.maximumMessages)
        if !entries.isEmpty { try await self.deliver(entries) }
        try await self.outbox.told(self.webhook.reader, through: through)
        return !entries.isEmpty
    }

    private func deliver(_ entries: [Outbox.Entry]) async throws {
        let body = Webhook.body(entries)
        var request = HTTPClientRequest(url: self.webhook.url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        request.headers.add(name: "user-agent", value: "godwit")
        request.headers.add(name: "godwit-signature", value: self.webhook.signature(of: body, at: self.now()))
        request.body = .bytes(ByteBuffer(bytes: body))
        let response = try await self.client.execute(request, timeout: Self.patience)
        // What it says does not matter; so that the connection can be used again it is read, up to an end.
        _ = try? await response.body.collect(upTo: 64 * 1024)
        guard (200..<300).contains(response.status.code) else {
            throw TrackingError(.refused, "it answered \(response.status.code)")
        }
    }

    private func report(_ error: any Error, _ failures: Int) {
        let reason = (error as? TrackingError)?.message ?? "\(error)"
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
    /// For webhooks: no redirect is followed, so that what is told goes nowhere else than where it was meant to.
    package static var webhooks: Self {
        var configuration = Self()
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: .seconds(5), read: .seconds(10))
        return configuration
    }
}
