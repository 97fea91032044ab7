import TrackingRules

/// The names of a gateway's metrics, and their help texts.
package enum GatewayMetrics {
    static let streams = "godwit_gateway_live_streams"
    static let connected = "godwit_gateway_connected"
    static let trackables = "godwit_gateway_trackables"
    static let overfull = "godwit_gateway_overfull_total"
    static let pointsAhead = "godwit_gateway_points_ahead_total"
    static let ruleEvents = "godwit_gateway_rule_events_total"
    static let taken = "godwit_gateway_intake_taken_total"
    static let refused = "godwit_gateway_intake_refused_total"
    static let liveDropped = "godwit_gateway_live_dropped_total"
    static let webhookDropped = "godwit_gateway_webhook_dropped_total"
    static let corrected = "godwit_gateway_intake_corrected_total"
    static let webhookBacklog = "godwit_gateway_webhook_backlog"
    static let webhookFailures = WebhookFigures.failuresLabel
    static let webhookRefused = WebhookFigures.rejectedLabel

    /// The help texts of the gateway's metrics, by metric name.
    package static let helps = [
        "godwit_http_requests_total": "HTTP requests that the gateway answered, by route pattern, method and status.",
        "godwit_http_request_seconds": "Seconds from an HTTP request to the beginning of its answer, by route pattern.",
        Self.streams: "Open live streams over HTTP.",
        Self.connected:
            "1 while a connection of the gateway to the broker is up, otherwise 0: live receives positions, intake publishes ingested records.",
        Self.trackables: "Trackables of which the gateway has received a message.",
        Self.overfull: "Minutes in which the gateway ignored trackables because it watches too many.",
        Self.pointsAhead: "Points whose time is more than a minute ahead of the gateway's clock.",
        Self.ruleEvents: "Events of rules that the gateway published on the event topics of their trackables.",
        Self.taken: "Records that the gateway received over HTTP and made durable.",
        Self.refused: "Records that the gateway received over HTTP and rejected; their sender keeps them.",
        Self.corrected:
            "Values that the gateway corrected in points received over HTTP, by reason: a battery level given in percent.",
        Self.webhookBacklog: "Messages in the outbox that were not delivered to a webhook yet.",
        Self.liveDropped: "Updates that live streams lost when they ended because their clients read too slowly.",
        Self.webhookDropped:
            "Webhook messages that the gateway dropped before their delivery: too many, too many bytes, or too old.",
        Self.webhookFailures: "Deliveries to a webhook that failed and are repeated.",
        Self.webhookRefused: "Messages that a webhook rejected because of their content and that are skipped.",
    ]
}
