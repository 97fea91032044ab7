import CoreMetrics
import Synchronization

/// The value of one series (a metric name with one label set): a counter, a gauge or a histogram.
final class SeriesValue: Sendable {
    /// The kind of a series, as Prometheus' `# TYPE` line names it.
    enum Kind: String {
        case counter, gauge, histogram
    }

    /// The upper bounds of the buckets of every histogram. For a timer they are in seconds: from half a millisecond to
    /// a minute.
    static let bounds: [Double] = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ]

    let kind: Kind
    private let state: Mutex<State>

    private struct State {
        /// The current value of a counter or gauge; for a histogram, the sum of all recorded values.
        var value = 0.0
        var count: UInt64 = 0
        var buckets: [UInt64]
    }

    init(_ kind: Kind) {
        self.kind = kind
        let buckets = [UInt64](repeating: 0, count: kind == .histogram ? Self.bounds.count : 0)
        self.state = Mutex(State(buckets: buckets))
    }

    private func observe(_ value: Double) {
        guard value.isFinite else { return }
        self.state.withLock { state in
            state.value += value
            state.count += 1
            if let place = Self.bounds.firstIndex(where: { value <= $0 }) { state.buckets[place] += 1 }
        }
    }

    /// Appends the lines of this series in Prometheus' text format to `text`: one line for a counter or gauge; the
    /// buckets, the sum and the count for a histogram.
    func write(_ name: String, _ labels: String, to text: inout String) {
        let state = self.state.withLock { $0 }
        guard self.kind == .histogram else {
            text += "\(name)\(labels) \(PrometheusText.number(state.value))\n"
            return
        }
        let inner = labels.isEmpty ? "" : String(labels.dropFirst().dropLast()) + ","
        var total: UInt64 = 0
        for (bound, count) in zip(Self.bounds, state.buckets) {
            total += count
            text += "\(name)_bucket{\(inner)le=\"\(PrometheusText.number(bound))\"} \(total)\n"
        }
        text += "\(name)_bucket{\(inner)le=\"+Inf\"} \(state.count)\n"
        text += "\(name)_sum\(labels) \(PrometheusText.number(state.value))\n\(name)_count\(labels) \(state.count)\n"
    }
}

extension SeriesValue: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    func increment(by amount: Int64) { self.increment(by: Double(amount)) }

    func increment(by amount: Double) {
        // A counter ignores negative amounts, because its value must never decrease. A gauge accepts them.
        guard amount.isFinite, self.kind == .gauge || amount >= 0 else { return }
        self.state.withLock { $0.value += amount }
    }

    func decrement(by amount: Double) { self.increment(by: -amount) }
    func reset() { self.state.withLock { $0.value = 0 } }
    func set(_ value: Int64) { self.set(Double(value)) }
    func set(_ value: Double) { self.state.withLock { $0.value = value } }
    func record(_ value: Int64) { self.record(Double(value)) }
    func record(_ value: Double) { if self.kind == .histogram { self.observe(value) } else { self.set(value) } }
    func recordNanoseconds(_ duration: Int64) { self.observe(Double(duration) * 1e-9) }
}
