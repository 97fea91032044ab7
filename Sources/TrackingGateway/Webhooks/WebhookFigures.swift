import CoreMetrics

/// What is counted of one webhook.
package struct WebhookFigures: Sendable {
    private let refused: Counter
    private let failures: Counter

    /// Counts nothing.
    package init() { self.init([], NOOPMetricsHandler.instance) }

    /// - Parameter labels: Which webhook.
    init(_ labels: [(String, String)], _ metrics: any MetricsFactory) {
        self.refused = Counter(label: GatewayMetrics.webhookRefused, dimensions: labels, factory: metrics)
        self.failures = Counter(label: GatewayMetrics.webhookFailures, dimensions: labels, factory: metrics)
    }

    /// It refused a message for what it is.
    func setAside() { self.refused.increment() }

    /// It did not take a delivery, which goes again.
    func failed() { self.failures.increment() }
}
