package import Hummingbird
import HTTPTypes
import NIOCore
import TrackingCore
package import TrackingMetrics

/// What an operator asks: whether it lives, whether it can do its work, and its figures.
package struct HealthRoutes: Sendable {
    /// One thing that is needed, and whether it can be used now.
    package struct Check: Sendable {
        let name: String
        let isFine: @Sendable () async -> Bool

        /// Who asks whether all is well does not wait long: what gives no answer cannot be used.
        private static let patience = Duration.seconds(5)

        /// Makes a check; the name is a word of ours.
        package init(_ name: String, _ isFine: @escaping @Sendable () async -> Bool) {
            self.name = name
            self.isFine = isFine
        }

        fileprivate func isFineInTime() async -> Bool {
            await withTaskGroup { group in
                group.addTask { await self.isFine() }
                group.addTask {
                    try? await Task.sleep(for: Self.patience)
                    return false
                }
                defer { group.cancelAll() }
                return await group.next() ?? false
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
        var isReady = true
        for check in self.checks {
            let isFine = await check.isFineInTime()
            members[check.name] = .flag(isFine)
            isReady = isReady && isFine
        }
        members["ready"] = .flag(isReady)
        return .json(.object(members), status: isReady ? .ok : .serviceUnavailable)
    }

    private static func text(_ text: String, _ type: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
