package import Hummingbird
import HummingbirdCore
public import Logging
public import ServiceLifecycle
public import TrackingCore
public import TrackingMetrics
public import TrackingStore

/// The HTTP server beside broker and history.
///
///     let gateway = try Gateway(configuration: configuration)
///     try await gateway.run()          // in a task or a ServiceGroup, until a graceful shutdown or cancellation
public struct Gateway: Service {
    private let configuration: GatewayConfiguration
    private let access: AccessStore
    private let history: (any HistoryStore)?
    private let live: LiveState?
    private let metrics: PrometheusRegistry
    private let logger: Logger

    /// Makes a gateway that listens to nothing yet; its database is opened, or made.
    ///
    /// - Parameters:
    ///   - history: What was recorded; it stays open. `nil` for none.
    ///   - metrics: What `/metrics` shows.
    /// - Throws: `storeUnusable`, `storeFailed`.
    public init(
        configuration: GatewayConfiguration, history: (any HistoryStore)? = nil,
        metrics: PrometheusRegistry = PrometheusRegistry(), logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        try self.init(configuration: configuration, history: history, live: nil, metrics: metrics, logger: logger)
    }

    /// Makes one that knows what is now, too.
    package init(
        configuration: GatewayConfiguration, history: (any HistoryStore)? = nil, live: LiveState?,
        metrics: PrometheusRegistry = PrometheusRegistry(), logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        self.configuration = configuration
        self.history = history
        self.live = live
        self.metrics = metrics
        self.access = AccessStore(try GatewayDatabase(path: configuration.database))
        self.logger = logger
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: what the system says where the address cannot be listened on.
    public func run() async throws {
        try await self.application().run()
    }

    /// The server, to be run.
    package func application() -> some ApplicationProtocol {
        Application(
            router: self.router(),
            server: ConnectionLimits(patience: self.configuration.patience).server,
            configuration: ApplicationConfiguration(
                address: .hostname(self.configuration.host, port: self.configuration.port), serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(self.configuration.maximumConnections)),
            onServerRunning: { channel in
                guard let port = channel.localAddress?.port else { return }
                await self.configuration.listening(port)
            },
            logger: self.logger)
    }

    private var checks: [HealthRoutes.Check] {
        var checks = [HealthRoutes.Check("database") { (try? await self.access.grants(.share)) != nil }]
        if let live = self.live { checks.append(HealthRoutes.Check("broker") { live.isConnected() }) }
        if let history = self.history {
            checks.append(
                HealthRoutes.Check("history") { (try? await history.trackables(after: nil, limit: 1)) != nil })
        }
        return checks
    }

    /// Every route, and what goes before them.
    package func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ResponseMiddleware(origins: self.configuration.origins, metrics: self.metrics))
        router.add(middleware: AccessMiddleware(store: self.access, configuration: self.configuration))
        HealthRoutes(checks: self.checks, metrics: self.metrics).add(to: router)
        SessionRoutes(store: self.access, configuration: self.configuration).add(to: router)
        APIRoutes(history: self.history, live: self.live ?? .none).add(to: router)
        return router
    }
}
