import CoreMetrics
import TrackingCore

/// What is counted of a gateway beside its requests, and what is looked up when somebody asks.
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

    /// What counts of one webhook; the number tells apart those of one host.
    func webhook(_ webhook: Webhook, _ number: Int) -> WebhookFigures {
        WebhookFigures(Self.labels(webhook, number), self.metrics)
    }

    private static func labels(_ webhook: Webhook, _ number: Int) -> [(String, String)] {
        [("webhook", "\(number + 1)"), ("host", "\(webhook)")]
    }

    /// Trackables were left alone because too many are watched.
    func leftTrackablesAlone() { self.overfull.increment() }

    /// A live stream lost updates: its reader took too little.
    func droppedLive(_ count: Int) { self.liveDropped.increment(by: count) }

    /// Messages for webhooks were dropped unread.
    func droppedForWebhooks(_ count: Int) { self.webhookDropped.increment(by: count) }

    /// Counts a point whose device's clock is ahead.
    func countPointAhead() { self.pointsAhead.increment() }

    /// An event of a rule was told on its topic.
    func toldRuleEvent() { self.ruleEvents.increment() }

    /// The same taking, counted.
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

    // MARK: - What is looked up

    /// A connection to the broker.
    func set(isConnected: Bool, of connection: String) {
        Meter(label: GatewayMetrics.connected, dimensions: [("connection", connection)], factory: self.metrics)
            .set(isConnected ? 1 : 0)
    }

    /// What the hub has.
    func set(streams: Int, trackables: Int) {
        Meter(label: GatewayMetrics.streams, factory: self.metrics).set(streams)
        Meter(label: GatewayMetrics.trackables, factory: self.metrics).set(trackables)
    }

    /// What webhooks were not told yet. Where the database does not say, the last figures stand.
    func set(backlogOf webhooks: [Webhook], in outbox: Outbox) async {
        for (number, webhook) in webhooks.enumerated() {
            guard let backlog = try? await outbox.backlog(webhook.reader) else { continue }
            Meter(
                label: GatewayMetrics.webhookBacklog, dimensions: Self.labels(webhook, number), factory: self.metrics
            ).set(backlog)
        }
    }
}
