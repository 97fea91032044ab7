import Hummingbird
public import Logging
public import ServiceLifecycle
public import TrackingCore
public import TrackingStore
public import TrackingSubscriber

/// The HTTP server beside broker and history.
///
///     let gateway = Gateway(configuration: configuration, logger: logger)
///     try await gateway.run()          // in a task or a ServiceGroup, until a graceful shutdown or cancellation
public struct Gateway: Service {
    private let configuration: GatewayConfiguration
    private let logger: Logger
    private let services: [any Service]
    private let live: LiveRoutes?

    /// Makes a gateway that listens to nothing yet.
    public init(configuration: GatewayConfiguration, logger: Logger = Logger(label: "godwit.gateway")) {
        self.configuration = configuration
        self.logger = logger
        self.services = []
        self.live = nil
    }

    /// Makes a gateway that shows what a subscriber hears, and runs it.
    ///
    /// - Parameters:
    ///   - subscriber: Watches everything, and is present only while it asks
    ///     (``SubscriberConfiguration/isPresentOnlyWhileAsking``).
    ///   - store: The history, for live streams that broke off for long.
    public init<Transport: MessageTransport>(
        configuration: GatewayConfiguration, subscriber: AssetSubscriber<Transport>, store: (any HistoryStore)? = nil,
        logger: Logger = Logger(label: "godwit.gateway")
    ) {
        let hub = LiveHub(subscriber)
        self.configuration = configuration
        self.logger = logger
        self.services = [subscriber, hub]
        self.live = LiveRoutes(hub: hub, recorded: store.map { $0.recordedPoints })
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: what the system says where the address cannot be listened on.
    public func run() async throws {
        let application = Application(
            router: self.router(),
            configuration: ApplicationConfiguration(
                address: .hostname(self.configuration.host, port: self.configuration.port), serverName: nil),
            services: self.services,
            onServerRunning: { channel in
                guard let port = channel.localAddress?.port else { return }
                await self.configuration.listening(port)
            },
            logger: self.logger)
        try await application.run()
    }

    private func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self)
        router.get("healthz") { _, _ in "ok\n" }
        self.live?.add(to: router)
        return router
    }
}
