package import CoreMetrics

/// The metrics of the deliveries to one webhook.
package struct WebhookFigures: Sendable {
    /// The name of the metric that counts the messages that a webhook rejected because of their content and that are
    /// skipped.
    package static let rejectedLabel = "godwit_gateway_webhook_refused_total"
    /// The name of the metric that counts deliveries to a webhook that failed and are repeated.
    package static let failuresLabel = "godwit_gateway_webhook_failures_total"

    private let rejected: Counter
    private let failures: Counter

    /// Creates metrics of a webhook that are not reported anywhere.
    package init() { self.init([], NOOPMetricsHandler.instance) }

    /// Creates the metrics of a webhook.
    ///
    /// - Parameters:
    ///   - labels: The metric labels that identify the webhook.
    ///   - metrics: The backend that reports the metrics.
    package init(_ labels: [(String, String)], _ metrics: any MetricsFactory) {
        self.rejected = Counter(label: Self.rejectedLabel, dimensions: labels, factory: metrics)
        self.failures = Counter(label: Self.failuresLabel, dimensions: labels, factory: metrics)
    }

    /// Counts a message that the webhook rejected because of its content and that is skipped.
    func countRejected() { self.rejected.increment() }

    /// Counts a delivery to the webhook that failed and is repeated.
    func countFailure() { self.failures.increment() }
}
