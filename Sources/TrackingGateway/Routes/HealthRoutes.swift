package import Hummingbird
import HTTPTypes
import NIOCore
import TrackingCore
package import TrackingMetrics

/// The HTTP routes for operators and monitoring: `/healthz` (the program runs), `/readyz` (it can do its work) and
/// `/metrics`.
package struct HealthRoutes: Sendable {
    /// A condition for the program to be ready, such as a connection to the broker.
    package struct Check: Sendable {
        let name: String
        let reason: @Sendable () async -> String?

        /// Creates a check of one condition for the program to be ready.
        ///
        /// - Parameters:
        ///   - name: The name of the check in the answer of `/readyz`.
        ///   - reason: Returns the reason for which the condition is not met; `nil` if it is met.
        package init(_ name: String, _ reason: @escaping @Sendable () async -> String?) {
            self.name = name
            self.reason = reason
        }

        fileprivate func reason(within patience: Duration) async -> String? {
            await withTaskGroup { group in
                group.addTask { await self.reason() }
                group.addTask {
                    try? await Task.sleep(for: patience)
                    return "the check had no answer within \(patience.components.seconds) s"
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
        }
    }

    /// The default time limit of one check: 5 s.
    package static let patience = Duration.seconds(5)

    private let checks: [Check]
    private let patience: Duration
    private let metrics: PrometheusRegistry
    private let lookUp: @Sendable () async -> Void

    /// Creates the routes for operators.
    ///
    /// - Parameters:
    ///   - checks: The conditions for the program to be ready.
    ///   - patience: The time limit of one check of `/readyz`. A check without an answer in this time counts as failed.
    ///   - metrics: The metrics that `/metrics` shows.
    ///   - lookUp: Sets the metrics of current values, such as the number of open streams. Called for each request of
    ///     `/metrics` before the answer.
    package init(
        checks: [Check], patience: Duration = Self.patience, metrics: PrometheusRegistry,
        lookUp: @escaping @Sendable () async -> Void = {}
    ) {
        self.checks = checks
        self.patience = patience
        self.metrics = metrics
        self.lookUp = lookUp
    }

    /// Adds the routes `/healthz`, `/readyz` and `/metrics`.
    package func add<Context: RequestContext>(to router: Router<Context>) {
        router.get("healthz") { _, _ in Self.text("ok\n", "text/plain; charset=utf-8") }
        router.get("readyz") { _, _ in await self.readiness() }
        router.get("metrics") { _, _ in
            await self.lookUp()
            return Self.text(self.metrics.text(), "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    private func readiness() async -> Response {
        var members: [String: JSONValue] = [:]
        var reasons: [String: JSONValue] = [:]
        for check in self.checks {
            let reason = await check.reason(within: self.patience)
            members[check.name] = .flag(reason == nil)
            reasons[check.name] = reason.map { .text($0) }
        }
        members["ready"] = .flag(reasons.isEmpty)
        if !reasons.isEmpty { members["reasons"] = .object(reasons) }
        return .json(.object(members), status: reasons.isEmpty ? .ok : .serviceUnavailable)
    }

    private static func text(_ text: String, _ type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
