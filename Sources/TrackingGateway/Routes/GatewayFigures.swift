import CoreMetrics
import TrackingCore
import TrackingRules

/// The metrics of a gateway, except those of its HTTP requests. Counters are incremented when something happens.
/// Current values, such as the number of open streams, are set for each request of `/metrics`.
struct GatewayFigures: Sendable {
    private let metrics: any MetricsFactory
    private let ruleEvents: Counter
    private let taken: Counter
    private let refused: Counter
    private let corrected: Counter
    private let overfull: Counter
    private let liveDropped: Counter
    private let webhookDropped: Counter
    private let pointsAhead: Counter

    init(_ metrics: any MetricsFactory) {
        self.metrics = metrics
        self.ruleEvents = Counter(label: GatewayMetrics.ruleEvents, factory: metrics)
        self.taken = Counter(label: GatewayMetrics.taken, factory: metrics)
        self.refused = Counter(label: GatewayMetrics.refused, factory: metrics)
        self.corrected = Counter(
            label: GatewayMetrics.corrected, dimensions: [("reason", "battery_percent")], factory: metrics)
        self.overfull = Counter(label: GatewayMetrics.overfull, factory: metrics)
        self.liveDropped = Counter(label: GatewayMetrics.liveDropped, factory: metrics)
        self.webhookDropped = Counter(label: GatewayMetrics.webhookDropped, factory: metrics)
        self.pointsAhead = Counter(label: GatewayMetrics.pointsAhead, factory: metrics)
    }

    /// Returns the metrics of one webhook.
    ///
    /// - Parameter number: The index of the webhook, which distinguishes webhooks of the same host.
    func webhook(_ webhook: Webhook, _ number: Int) -> WebhookFigures {
        WebhookFigures(Self.labels(webhook, number), self.metrics)
    }

    private static func labels(_ webhook: Webhook, _ number: Int) -> [(String, String)] {
        [("webhook", "\(number + 1)"), ("host", "\(webhook)")]
    }

    /// Counts a report of the gateway's subscriber that it ignores a trackable, because the subscriber already watches
    /// the largest number of trackables. The subscriber sends such a report at most once a minute.
    func leftTrackablesAlone() { self.overfull.increment() }

    /// Counts updates that a live stream lost because its client read too slowly.
    func droppedLive(_ count: Int) { self.liveDropped.increment(by: count) }

    /// Counts webhook messages that were dropped before their delivery.
    func countDroppedForWebhooks(_ count: Int) { self.webhookDropped.increment(by: count) }

    /// Counts a point of a device whose clock is more than a minute ahead of the gateway's.
    func countPointAhead() { self.pointsAhead.increment() }

    /// Counts an event that was published because a rule of the gateway became true, such as "enters the fence depot".
    func countRuleEvent() { self.ruleEvents.increment() }

    /// Wraps `take`, the function that stores ingested records durably. The returned function does the same, and also
    /// counts the accepted records, the rejected records, and the values that were corrected in them.
    func counted(_ take: @escaping PhoneRoutes.Take) -> PhoneRoutes.Take {
        { (id, batch) async throws(TrackingError) in
            do throws(TrackingError) {
                try await take(id, batch)
            } catch {
                self.refused.increment(by: batch.records.count)
                throw error
            }
            self.taken.increment(by: batch.records.count)
            self.corrected.increment(by: batch.corrections)
        }
    }

    // MARK: - Current values

    /// Sets the metric that shows if one of the gateway's connections to the broker is connected.
    ///
    /// - Parameter connection: The name of the connection: `live` or `intake`.
    func set(isConnected: Bool, of connection: String) {
        Meter(label: GatewayMetrics.connected, dimensions: [("connection", connection)], factory: self.metrics)
            .set(isConnected ? 1 : 0)
    }

    /// Sets the metrics of the numbers of open live streams and of known trackables.
    func set(streams: Int, trackables: Int) {
        Meter(label: GatewayMetrics.streams, factory: self.metrics).set(streams)
        Meter(label: GatewayMetrics.trackables, factory: self.metrics).set(trackables)
    }

    /// Sets the metrics of the numbers of messages that wait for each webhook. If the database cannot be read, the last
    /// values remain.
    func set(backlogOf webhooks: [Webhook], in outbox: Outbox) async {
        for (number, webhook) in webhooks.enumerated() {
            guard let backlog = try? await outbox.backlog(webhook.reader) else { continue }
            Meter(
                label: GatewayMetrics.webhookBacklog, dimensions: Self.labels(webhook, number), factory: self.metrics
            ).set(backlog)
        }
    }
}
