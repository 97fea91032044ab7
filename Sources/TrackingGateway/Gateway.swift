package import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import ServiceLifecycle
public import TrackingCore
public import TrackingStore
public import TrackingSubscriber

/// The HTTP server beside broker and history.
///
///     let gateway = try Gateway(configuration: configuration)
///     try await gateway.run()          // in a task or a ServiceGroup, until a graceful shutdown or cancellation
public struct Gateway: Service {
    private let configuration: GatewayConfiguration
    private let access: AccessStore
    private let logger: Logger
    private var services: [any Service] = []
    private var live: LiveRoutes?

    /// Makes a gateway that listens to nothing yet; its database is opened, or made.
    ///
    /// - Throws: `storeUnusable`, `storeFailed`.
    public init(
        configuration: GatewayConfiguration, logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        self.configuration = configuration
        self.access = AccessStore(try GatewayDatabase(path: configuration.database))
        self.logger = logger
    }

    /// Makes a gateway that shows what a subscriber hears, and runs it.
    ///
    /// - Parameters:
    ///   - subscriber: Watches everything, and is present only while it asks
    ///     (``SubscriberConfiguration/isPresentOnlyWhileAsking``).
    ///   - store: The history, for live streams that broke off for long.
    /// - Throws: `storeUnusable`, `storeFailed`.
    public init<Transport: MessageTransport>(
        configuration: GatewayConfiguration, subscriber: AssetSubscriber<Transport>, store: (any HistoryStore)? = nil,
        logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        try self.init(configuration: configuration, logger: logger)
        let hub = LiveHub(subscriber)
        self.services = [subscriber, hub]
        self.live = LiveRoutes(hub: hub, recorded: store.map { $0.recordedPoints })
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
            server: .http1(configuration: self.connections),
            configuration: ApplicationConfiguration(
                address: .hostname(self.configuration.host, port: self.configuration.port), serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(self.configuration.maximumConnections)),
            services: self.services,
            onServerRunning: { channel in
                guard let port = channel.localAddress?.port else { return }
                await self.configuration.listening(port)
            },
            logger: self.logger)
    }

    private var connections: HTTP1Channel.Configuration {
        let patience = TimeAmount(self.configuration.patience)
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [PeerPatience(patience)], idleTimeout: patience,
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100))
    }

    private func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ResponseMiddleware(origins: self.configuration.origins))
        router.add(middleware: AccessMiddleware(store: self.access, configuration: self.configuration))
        router.get("healthz") { _, _ in "ok\n" }
        SessionRoutes(store: self.access, configuration: self.configuration).add(to: router)
        self.live?.add(to: router)
        return router
    }
}
