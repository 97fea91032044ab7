package import CoreMetrics

/// The counters of one webhook.
package struct WebhookFigures: Sendable {
    /// The name of the counter of messages that the webhook rejected.
    package static let rejectedLabel = "godwit_gateway_webhook_refused_total"
    /// The name of the counter of deliveries that failed and are repeated.
    package static let failuresLabel = "godwit_gateway_webhook_failures_total"

    private let rejected: Counter
    private let failures: Counter

    /// Creates counters that are not reported anywhere.
    package init() { self.init([], NOOPMetricsHandler.instance) }

    /// Creates counters.
    ///
    /// - Parameter labels: The labels that identify the webhook.
    package init(_ labels: [(String, String)], _ metrics: any MetricsFactory) {
        self.rejected = Counter(label: Self.rejectedLabel, dimensions: labels, factory: metrics)
        self.failures = Counter(label: Self.failuresLabel, dimensions: labels, factory: metrics)
    }

    /// Counts a message that the webhook rejected because of its content.
    func countRejected() { self.rejected.increment() }

    /// Counts a delivery that failed and is repeated.
    func countFailure() { self.failures.increment() }
}
