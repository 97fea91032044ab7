import Hummingbird
import HummingbirdCore
public import Logging
public import ServiceLifecycle
public import TrackingMetrics

/// `/healthz`, `/readyz` and `/metrics` alone: for a program that serves nothing else.
public struct HealthServer: Service {
    private let host: String
    private let port: Int
    private let routes: HealthRoutes
    private let listening: @Sendable (Int) async -> Void
    private let logger: Logger

    /// Makes a server that listens to nothing yet.
    ///
    /// - Parameters:
    ///   - port: 0 takes a free one.
    ///   - checks: The conditions of readiness by name; each returns why it is not met, or `nil`.
    ///   - listening: Told the port once it listens.
    public init(
        host: String, port: Int, checks: [String: @Sendable () async -> String?], metrics: PrometheusRegistry,
        logger: Logger = Logger(label: "godwit.health"), listening: @escaping @Sendable (Int) async -> Void
    ) {
        self.host = host
        self.port = port
        self.routes = HealthRoutes(checks: checks.map { HealthRoutes.Check($0, $1) }, metrics: metrics)
        self.logger = logger
        self.listening = listening
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: `inputUnreadable` where the address cannot be listened on.
    public func run() async throws {
        let router = Router()
        self.routes.add(to: router)
        let limits = ConnectionLimits()
        let application = Application(
            router: router, server: limits.server,
            configuration: ApplicationConfiguration(
                address: .hostname(self.host, port: self.port), serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(limits.maximum)),
            onServerRunning: { channel in
                await limits.guarding(channel, logger: self.logger)
                if let port = channel.localAddress?.port { await self.listening(port) }
            },
            logger: self.logger)
        try await ListenFailure.named(host: self.host, port: self.port) { try await application.run() }
    }
}
