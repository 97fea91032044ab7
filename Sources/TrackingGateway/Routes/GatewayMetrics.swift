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

    /// The help texts by name, for `# HELP`.
    package static let helps = [
        "godwit_http_requests_total": "Requests that were answered, by the route's pattern, method and status.",
        "godwit_http_request_seconds": "How long it took until an answer began, by the route's pattern.",
        Self.streams: "Live streams that are open.",
        Self.connected: "1 while the connection stands that watches, or the one that publishes what comes in.",
        Self.trackables: "Trackables that something was heard of.",
        Self.overfull: "Minutes in which trackables were left alone because too many are watched.",
        Self.pointsAhead: "Points whose time is more than a minute ahead of the gateway's clock.",
        Self.ruleEvents: "Events of rules that were told on their topics.",
        Self.taken: "Records that came by HTTP and are safe.",
        Self.refused: "Records that came by HTTP and were not taken: their sender keeps them.",
        Self.corrected:
            "Values of points that came by HTTP and were corrected, by reason: a battery's charge in percent.",
        Self.webhookBacklog: "Messages that a webhook was not told yet.",
        Self.liveDropped: "Updates that live streams lost as they ended because their readers took too little.",
        Self.webhookDropped:
            "Messages for webhooks that were dropped unread: too many, too many bytes of them, or too old.",
        Self.webhookFailures: "Deliveries that a webhook did not take, and that go again.",
        Self.webhookRefused: "Messages that a webhook refused for what they are; they are left out.",
    ]
}
