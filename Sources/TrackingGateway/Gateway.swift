import Hummingbird
public import Logging
public import ServiceLifecycle

/// The HTTP server beside broker and history.
///
///     let gateway = Gateway(configuration: configuration, logger: logger)
///     try await gateway.run()          // in a task or a ServiceGroup, until a graceful shutdown or cancellation
public struct Gateway: Service {
    private let configuration: GatewayConfiguration
    private let logger: Logger

    /// Makes a gateway that listens to nothing yet.
    public init(configuration: GatewayConfiguration, logger: Logger = Logger(label: "godwit.gateway")) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: what the system says where the address cannot be listened on.
    public func run() async throws {
        let application = Application(
            router: self.router(),
            configuration: ApplicationConfiguration(
                address: .hostname(self.configuration.host, port: self.configuration.port), serverName: nil),
            services: [self.configuration.intake].compactMap { $0 },
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
        return router
    }
}
