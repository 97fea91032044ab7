import CoreMetrics

/// The metrics of a forwarder for one sink, reported through swift-metrics.
struct ForwardMetrics: Sendable {
    private let forwarded: Counter
    private let failures: Counter
    private let rejected: Counter
    private let isAway: Meter

    /// Creates the metrics of a sink.
    ///
    /// - Parameters:
    ///   - sink: The address of the sink, without its path, which may be secret.
    ///   - number: The position of the sink among all sinks, from 1 on. It distinguishes sinks of the same host.
    init(sink: String, number: Int) {
        let labels = [("sink", sink), ("number", "\(number)")]
        self.forwarded = Counter(label: "godwit_forward_points_total", dimensions: labels)
        self.failures = Counter(label: "godwit_forward_failures_total", dimensions: labels)
        self.rejected = Counter(label: "godwit_forward_quarantined_total", dimensions: labels)
        self.isAway = Meter(label: "godwit_forward_sink_away", dimensions: labels)
        self.isAway.set(0)
    }

    /// Counts points that the sink acknowledged.
    func acknowledged(_ count: Int) {
        self.forwarded.increment(by: count)
        self.isAway.set(0)
    }

    /// Counts points that the sink rejected because of their content.
    func quarantined(_ count: Int) { self.rejected.increment(by: count) }

    /// Counts a request that failed.
    func failed() {
        self.failures.increment()
        self.isAway.set(1)
    }
}

/// The help texts of a forwarder's metrics, for a program that serves the metrics.
package enum ForwardHelps {
    /// The help texts of the forwarder's metrics, by metric name.
    package static let all = [
        "godwit_forward_points_total": "Points that a sink acknowledged.",
        "godwit_forward_quarantined_total":
            "Points that a sink rejected because of their content, and that are quarantined.",
        "godwit_forward_failures_total": "Requests to a sink that failed and are repeated.",
        "godwit_forward_sink_away": "1 while the last request to a sink failed, otherwise 0.",
    ]
}
