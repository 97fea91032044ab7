import CoreMetrics
import TrackingCore

/// The metrics of an enhancer, reported through swift-metrics.
struct EnhancerMetrics: Sendable {
    private let matched = Counter(
        label: "godwit_enhancer_positions_total", dimensions: [("confidence", "matched")])
    private let presumed = Counter(
        label: "godwit_enhancer_positions_total", dimensions: [("confidence", "presumed")])
    private let offRoad = Counter(
        label: "godwit_enhancer_positions_total", dimensions: [("confidence", "off-road")])
    private let late = Counter(label: "godwit_enhancer_late_total")
    private let failures = Counter(label: "godwit_enhancer_engine_failures_total")
    private let match = Timer(label: "godwit_enhancer_match_seconds")
    private let trackables = Meter(label: "godwit_enhancer_trackables")
    private let isEngineAway = Meter(label: "godwit_enhancer_engine_away")
    private let isConnected = Meter(label: "godwit_enhancer_connected")

    init() {
        for meter in [self.trackables, self.isEngineAway, self.isConnected] { meter.set(0) }
    }

    /// Counts the updates that were published.
    func count(_ figures: EnhancerFigures) {
        self.matched.increment(by: figures.matched)
        self.presumed.increment(by: figures.presumed)
        self.offRoad.increment(by: figures.offRoad)
        self.late.increment(by: figures.late)
    }

    /// Counts an answer of the engine, with the time from the request to the answer.
    func answered(isFailure: Bool, after time: Duration) {
        if isFailure { self.failures.increment() }
        self.match.recordNanoseconds(Int64(time.inSeconds * 1e9))
    }

    /// Sets the gauges of the remembered trackables and of the engine.
    func note(trackables: Int, isEngineAway: Bool) {
        self.trackables.set(trackables)
        self.isEngineAway.set(isEngineAway ? 1 : 0)
    }

    /// Sets the gauge of the connection for an event of the enhancer.
    func happened(_ event: EnhancerEvent) {
        switch event {
        case .connected: self.isConnected.set(1)
        case .disconnected: self.isConnected.set(0)
        case .subscriptionRefused, .publishRefused, .badMessage, .engineAway, .engineBack, .groupChanged, .failed: break
        }
    }

    /// The help texts of the enhancer's metrics, by metric name.
    static let helps = [
        "godwit_enhancer_positions_total": "Positions that the enhancer published, by the certainty of the match.",
        "godwit_enhancer_late_total":
            "Positions that the enhancer published as the device sent them, because the routing engine did not answer in time.",
        "godwit_enhancer_engine_failures_total":
            "Requests that the routing engine did not answer, or answered with an unusable answer.",
        "godwit_enhancer_match_seconds": "Seconds from a request to the routing engine to its answer.",
        "godwit_enhancer_trackables": "Trackables whose positions the enhancer remembers.",
        "godwit_enhancer_engine_away": "1 while the routing engine is away, otherwise 0.",
        "godwit_enhancer_connected": "1 while the enhancer is connected to the broker, otherwise 0.",
    ]
}

/// The help texts of an enhancer's metrics, for a program that serves the metrics.
public enum EnhancerHelps {
    /// The help texts of the enhancer's metrics, by their swift-metrics names.
    public static var all: [String: String] { EnhancerMetrics.helps }
}
