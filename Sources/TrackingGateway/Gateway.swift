package import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import ServiceLifecycle
public import TrackingCore

/// The HTTP server beside broker and history.
///
///     let gateway = try Gateway(configuration: configuration)
///     try await gateway.run()          // in a task or a ServiceGroup, until a graceful shutdown or cancellation
public struct Gateway: Service {
    private let configuration: GatewayConfiguration
    private let database: GatewayDatabase
    private let access: AccessStore
    private let logger: Logger

    /// Makes a gateway that listens to nothing yet; its database is opened, or made.
    ///
    /// - Throws: `storeUnusable`, `storeFailed`.
    public init(
        configuration: GatewayConfiguration, logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        self.configuration = configuration
        self.database = try GatewayDatabase(path: configuration.database)
        self.access = AccessStore(self.database)
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
            server: .http1(configuration: self.connections),
            configuration: ApplicationConfiguration(
                address: .hostname(self.configuration.host, port: self.configuration.port), serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(self.configuration.maximumConnections)),
            services: [self.configuration.intake].compactMap { $0 },
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
        if let intake = self.configuration.intake {
            PhoneRoutes(
                configuration: self.configuration.phones, quarantine: Quarantine(database: self.database),
                take: intake.take
            ).add(to: router)
        }
        return router
    }
}
