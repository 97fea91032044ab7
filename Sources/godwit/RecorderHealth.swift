import enum CoreMetrics.MetricsSystem
import GodwitOptions
import Synchronization
import TrackingGateway
import TrackingMetrics
import TrackingRecorder
import TrackingStore

/// Answers the HTTP health checks of a recorder that runs with `--listen`.
final class RecorderHealth: Sendable {
    private let listen: ListenAddress?
    private let metrics = PrometheusRegistry(helps: RecorderFigures.helps)
    private let state = Mutex(RecorderReadiness())

    /// Creates the health checks of a recorder. With an address in `listen`, the program also counts metrics from now
    /// on.
    init(listen: ListenAddress?) {
        self.listen = listen
        if listen != nil { MetricsSystem.bootstrap(self.metrics) }
    }

    /// Handles an event of the recorder, which may change the answers of the health checks.
    func happened(_ event: RecorderEvent) {
        self.state.withLock { $0.happened(event, now: .now) }
    }

    /// Handles that the recorder begins (`true`) or ends (`false`) to wait while another recorder of its name is active.
    func waits(_ isWaiting: Bool) {
        self.state.withLock { $0.isWaiting = isWaiting }
    }

    private func historyReason(_ store: any HistoryStore) async -> String? {
        if let reason = self.state.withLock({ $0.historyReason }) { return reason }
        let isReadable = (try? await store.trackables(after: nil, limit: 1)) != nil
        return isReadable ? nil : "the history cannot be read"
    }

    /// Returns the HTTP server that serves the recorder's health checks and metrics; `nil` without `--listen`.
    func server(_ store: any HistoryStore) -> HealthServer? {
        guard let listen = self.listen else { return nil }
        return HealthServer(
            host: listen.host, port: listen.port,
            checks: [
                "broker": { self.state.withLock { $0.brokerReason } },
                "queues": { self.state.withLock { $0.queuesReason(now: .now) } },
                "share": { self.state.withLock { $0.shareReason } },
                "history": { await self.historyReason(store) },
            ], metrics: self.metrics
        ) { port in
            Program.note("listening on http://\(ListenAddress(host: listen.host, port: port))\n")
        }
    }
}
