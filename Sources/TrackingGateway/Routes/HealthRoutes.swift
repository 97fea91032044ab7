package import Hummingbird
import HTTPTypes
import NIOCore
import TrackingCore
package import TrackingMetrics

/// What an operator asks: whether it lives, whether it can do its work, and its figures.
package struct HealthRoutes: Sendable {
    /// One thing that is needed, and why it cannot be used now.
    package struct Check: Sendable {
        let name: String
        let reason: @Sendable () async -> String?

        /// Who asks whether all is well does not wait long: what gives no answer cannot be used.
        private static let patience = Duration.seconds(5)

        /// Makes a check.
        ///
        /// - Parameters:
        ///   - name: A word of this program.
        ///   - reason: Returns why it cannot be used now; `nil` where it can.
        package init(_ name: String, _ reason: @escaping @Sendable () async -> String?) {
            self.name = name
            self.reason = reason
        }

        fileprivate func reasonInTime() async -> String? {
            await withTaskGroup { group in
                group.addTask { await self.reason() }
                group.addTask {
                    try? await Task.sleep(for: Self.patience)
                    return "no answer within \(Self.patience.components.seconds) s"
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
        }
    }

    private let checks: [Check]
    private let metrics: PrometheusRegistry
    private let lookUp: @Sendable () async -> Void

    /// Makes the routes.
    ///
    /// - Parameter lookUp: Sets the figures that stand for what is now, each time that somebody asks.
    package init(
        checks: [Check], metrics: PrometheusRegistry, lookUp: @escaping @Sendable () async -> Void = {}
    ) {
        self.checks = checks
        self.metrics = metrics
        self.lookUp = lookUp
    }

    /// Adds `/healthz`, `/readyz` and `/metrics`.
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
            let reason = await check.reasonInTime()
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
