import Hummingbird
import HummingbirdCore
public import Logging
public import ServiceLifecycle
public import TrackingMetrics

/// An HTTP server with only the routes `/healthz`, `/readyz` and `/metrics`, for programs without other HTTP routes.
public struct HealthServer: Service {
    private let host: String
    private let port: Int
    private let routes: HealthRoutes
    private let listening: @Sendable (Int) async -> Void
    private let logger: Logger

    /// Creates a health server. It listens once ``run()`` is called.
    ///
    /// - Parameters:
    ///   - host: The IP address or host name to listen on.
    ///   - port: The port to listen on; with 0 the system chooses a free port.
    ///   - checks: The conditions for the program to be ready, by name. Each returns the reason for which it is not
    ///     met; `nil` if it is met.
    ///   - metrics: The metrics that `/metrics` shows.
    ///   - logger: The logger of the server.
    ///   - listening: Is called with the port once the server listens on it.
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

    /// Serves HTTP requests until a graceful shutdown or cancellation.
    ///
    /// - Throws: `inputUnreadable` if the server cannot listen on the address.
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
