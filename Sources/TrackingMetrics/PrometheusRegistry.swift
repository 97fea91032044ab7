public import CoreMetrics
import Synchronization

/// A swift-metrics backend that collects all metrics of the program and returns them in Prometheus' text format
/// (version 0.0.4).
///
///     let registry = PrometheusRegistry()
///     MetricsSystem.bootstrap(registry)
///     …
///     let page = registry.text()
///
/// Timers and aggregating recorders become histograms; a timer's values are in seconds. In the names of metrics and
/// labels, `_` replaces each character that Prometheus forbids.
///
/// The registry reports at most ``maximumSeries`` different sets of labels for one metric name. A metric with a further
/// set is not reported. Nor is a metric whose name another kind of metric uses already. The counter
/// `godwit_metrics_left_out_total` counts each creation of such a metric.
public final class PrometheusRegistry: MetricsFactory {
    /// The largest number of label sets (series) that the registry holds for one metric name. Further label sets are
    /// not reported.
    public static let maximumSeries = 500

    private let families = Mutex<[String: Family]>([:])
    private let leftOut = SeriesValue(.counter)
    private let helps: [String: String]

    /// Creates a registry without metrics.
    ///
    /// - Parameter helps: The help text of each metric, by metric name, for the `# HELP` lines. A metric without a help
    ///   text has no such line.
    public init(helps: [String: String] = [:]) { self.helps = helps }

    /// One metric name with its series: one series for each set of labels.
    private struct Family {
        let kind: SeriesValue.Kind
        /// The series of the metric, by their labels in Prometheus' notation: `{route="/healthz"}`.
        var series: [String: SeriesValue] = [:]
    }

    /// Returns the current values of all metrics in Prometheus' text format, sorted by metric name.
    public func text() -> String {
        let families = self.families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            if let help = self.helps[name] { text += "# HELP \(name) \(help)\n" }
            text += "# TYPE \(name) \(family.kind.rawValue)\n"
            for (labels, value) in family.series.sorted(by: { $0.key < $1.key }) {
                value.write(name, labels, to: &text)
            }
        }
        text += "# TYPE godwit_metrics_left_out_total counter\n"
        self.leftOut.write("godwit_metrics_left_out_total", "", to: &text)
        return text
    }

    /// Returns the series for a metric name and a set of labels, and creates it if it does not exist. The returned
    /// series accepts values but is not reported in two cases: the name already has ``maximumSeries`` sets of labels,
    /// or it belongs to a metric of another kind.
    private func series(_ label: String, _ dimensions: [(String, String)], _ kind: SeriesValue.Kind) -> SeriesValue {
        let name = PrometheusText.name(label)
        let labels = PrometheusText.labels(dimensions)
        let found: SeriesValue? = self.families.withLock { families in
            var family = families[name] ?? Family(kind: kind)
            if let known = family.series[labels] { return known.kind == kind ? known : nil }
            guard family.kind == kind, family.series.count < Self.maximumSeries else { return nil }
            let value = SeriesValue(kind)
            family.series[labels] = value
            families[name] = family
            return value
        }
        if let found { return found }
        self.leftOut.increment(by: 1.0)
        return SeriesValue(kind)
    }

    // MARK: - MetricsFactory

    /// Returns the counter of a metric name and its labels, as swift-metrics' `MetricsFactory` requires.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.series(label, dimensions, .counter)
    }

    /// Returns the counter of a metric name and its labels, as swift-metrics' `MetricsFactory` requires.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        self.series(label, dimensions, .counter)
    }

    /// Returns the gauge of a metric name and its labels, as swift-metrics' `MetricsFactory` requires.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.series(label, dimensions, .gauge)
    }

    /// Returns the histogram of a metric name and its labels, or its gauge if `aggregate` is `false`, as swift-metrics'
    /// `MetricsFactory` requires.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        self.series(label, dimensions, aggregate ? .histogram : .gauge)
    }

    /// Returns the histogram, in seconds, of a metric name and its labels, as swift-metrics' `MetricsFactory` requires.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.series(label, dimensions, .histogram)
    }

    /// Called by swift-metrics when the program destroys a counter. Does nothing: the counter's values are still
    /// reported, and a later counter of the same name and labels continues them.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Called by swift-metrics when the program destroys a counter. Does nothing: the counter's values are still
    /// reported, and a later counter of the same name and labels continues them.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    /// Called by swift-metrics when the program destroys a meter. Does nothing: the meter's value is still reported,
    /// and a later meter of the same name and labels continues it.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Called by swift-metrics when the program destroys a recorder, which is a kind of metric. Does nothing: the
    /// metric's values are still reported, and a later one of the same name and labels continues them.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Called by swift-metrics when the program destroys a timer. Does nothing: the timer's values are still reported,
    /// and a later timer of the same name and labels continues them.
    public func destroyTimer(_ handler: any TimerHandler) {}
}
