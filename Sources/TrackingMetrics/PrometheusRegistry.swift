public import CoreMetrics
import Synchronization

/// A swift-metrics backend that provides all metrics in Prometheus' text format (version 0.0.4).
///
///     let registry = PrometheusRegistry()
///     MetricsSystem.bootstrap(registry)
///     …
///     let page = registry.text()
///
/// Timers and aggregating recorders become histograms; a timer's values are in seconds. In names and labels, `_`
/// replaces characters that Prometheus forbids. The registry holds at most ``maximumSeries`` sets of labels for one
/// name, and counts further sets in `godwit_metrics_left_out_total`.
public final class PrometheusRegistry: MetricsFactory {
    /// The largest number of label sets of one name.
    public static let maximumSeries = 500

    private let families = Mutex<[String: Family]>([:])
    private let leftOut = SeriesValue(.counter)
    private let helps: [String: String]

    /// Creates an empty registry.
    ///
    /// - Parameter helps: The descriptions of names, for the `# HELP` lines.
    public init(helps: [String: String] = [:]) { self.helps = helps }

    /// One name with all its label sets.
    private struct Family {
        let kind: SeriesValue.Kind
        /// The series by their labels as written: `{route="/healthz"}`.
        var series: [String: SeriesValue] = [:]
    }

    /// Returns all metrics as text.
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

    /// Returns the series of a name and its labels. Returns an unregistered one if there is no room, or the name is of
    /// another kind.
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

    /// See `MetricsFactory`.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.series(label, dimensions, .counter)
    }

    /// See `MetricsFactory`.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        self.series(label, dimensions, .counter)
    }

    /// See `MetricsFactory`.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.series(label, dimensions, .gauge)
    }

    /// See `MetricsFactory`.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        self.series(label, dimensions, aggregate ? .histogram : .gauge)
    }

    /// See `MetricsFactory`.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.series(label, dimensions, .histogram)
    }

    /// Does nothing: the series remains, so that a later counter continues it.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing: the series remains, so that a later counter continues it.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    /// Does nothing: the series remains, so that a later meter continues it.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Does nothing: the series remains, so that a later recorder continues it.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing: the series remains, so that a later timer continues it.
    public func destroyTimer(_ handler: any TimerHandler) {}
}
