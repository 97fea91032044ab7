package import Hummingbird
import HummingbirdCore
public import Logging
public import ServiceLifecycle
public import TrackingCore
public import TrackingMetrics
import TrackingPublisher
import TrackingRules
import TrackingRuntime
public import TrackingStore
public import TrackingSubscriber

/// The HTTP server beside broker and history.
///
///     let gateway = try Gateway(configuration: configuration)
///     try await gateway.run()          // in a task or a ServiceGroup, until a graceful shutdown or cancellation
public struct Gateway: Service {
    private let configuration: GatewayConfiguration
    private let database: GatewayDatabase
    private let access: AccessStore
    private let history: (any HistoryStore)?
    private let live: LiveState?
    private let metrics: PrometheusRegistry
    private let figures: GatewayFigures
    private let logger: Logger
    /// The services that run beside the server.
    private var services: [any Service] = []
    private var hub: LiveHub?
    private let tiles: MapTiles?

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
        self.figures = GatewayFigures(metrics)
        self.tiles = try configuration.tiles.map { (tiles) throws(TrackingError) in try MapTiles(tiles) }
        self.database = try GatewayDatabase(path: configuration.database)
        self.access = AccessStore(self.database)
        self.logger = logger
        // The last to start is the first to end: the intake ends before the recorder that acknowledges its records.
        self.services += configuration.companions
        if let intake = configuration.intake { self.services.append(intake) }
    }

    /// Makes a gateway that shows what a subscriber hears, and runs that subscriber.
    ///
    /// - Parameters:
    ///   - subscriber: Watches everything, and is present only while it asks
    ///     (``SubscriberConfiguration/isPresentOnlyWhileAsking``).
    ///   - history: What was recorded; it stays open. `nil` for none.
    ///   - metrics: What `/metrics` shows.
    /// - Throws: `storeUnusable`, `storeFailed`, and `inputUnreadable` for a file of tiles.
    public init<Transport: MessageTransport>(
        configuration: GatewayConfiguration, subscriber: AssetSubscriber<Transport>,
        history: (any HistoryStore)? = nil, metrics: PrometheusRegistry = PrometheusRegistry(),
        logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        let figures = GatewayFigures(metrics)
        let (cleared, erasing) = AsyncStream.makeStream(of: TrackableID.self, bufferingPolicy: .bufferingNewest(10_000))
        let hub = LiveHub(
            subscriber, history: history, overfull: { figures.leftTrackablesAlone() },
            dropped: { figures.droppedLive($0) },
            cleared: { id, last in
                configuration.intake?.forgetPosition(of: id, through: last)
                erasing.yield(id)
            },
            clockAhead: { figures.countPointAhead() })
        var live = hub.liveState
        let clock = DeviceClock()
        live.timeSinceDrop = { subscriber.brokerDrops.lastIncrease.map { $0.duration(to: clock.moment.now) } }
        try self.init(configuration: configuration, history: history, live: live, metrics: metrics, logger: logger)
        self.hub = hub
        let gate = OutboxGate()
        self.services += [
            subscriber, hub, self.rules(of: subscriber, gate), RevocationWatch(hub: hub, database: self.database),
            Eraser(
                database: self.database, history: history, intake: configuration.intake, cleared: cleared,
                logger: logger),
        ]
        if !configuration.webhooks.isEmpty {
            let recipients = configuration.webhooks.enumerated().map { number, webhook in
                WebhookService.Recipient(webhook, figures: self.figures.webhook(webhook, number))
            }
            self.services.append(
                WebhookService(
                    recipients, kinds: configuration.webhookKinds, database: self.database, gate: gate, logger: logger))
        }
    }

    private func rules<Transport: MessageTransport>(
        of subscriber: AssetSubscriber<Transport>, _ gate: OutboxGate
    ) -> RulesService {
        let clock = DeviceClock()
        let figures = self.figures
        return RulesService(
            configuration: RulesService.Configuration(
                kinds: self.configuration.webhooks.isEmpty ? [] : self.configuration.webhookKinds,
                readers: self.configuration.webhooks.map(\.reader), related: [Quarantine.erasable],
                seed: UInt64.random(in: .min ... .max), now: { clock.moment.wall }),
            database: self.database, events: subscriber.everyEvent, history: self.history, gate: gate,
            effects: RulesService.Effects(
                publish: { (event, id) throws(TrackingError) in
                    try await subscriber.publish(event, of: id)
                    figures.countRuleEvent()
                },
                dropped: { figures.countDroppedForWebhooks($0) }),
            logger: self.logger)
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: `inputUnreadable` where the address cannot be listened on.
    public func run() async throws {
        // The server waits for every answer to end, and a stream's would not.
        try await withGracefulShutdownHandler {
            try await ListenFailure.named(host: self.configuration.host, port: self.configuration.port) {
                try await self.application().run()
            }
        } onGracefulShutdown: { [hub] in
            hub?.finish()
        }
    }

    /// The server, to be run.
    package func application() -> some ApplicationProtocol {
        let router = self.router()
        OtherMethods.add(to: router)
        let limits = self.configuration.connectionLimits
        return Application(
            router: router,
            server: limits.server,
            configuration: ApplicationConfiguration(
                address: .hostname(self.configuration.host, port: self.configuration.port), serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(limits.maximum)),
            services: self.services,
            onServerRunning: { channel in
                await limits.guarding(channel, logger: self.logger)
                guard let port = channel.localAddress?.port else { return }
                await self.configuration.listening(port)
            },
            logger: self.logger)
    }

    /// The friends of OwnTracks phones, with the names that the operator gave them.
    private var friends: PhoneRoutes.Friends {
        let live = self.live ?? .none
        let names = RuleStore(self.database)
        return { caller, own in
            let newest = OwnTracksFriends.newest(of: live.positions(), for: caller, beside: own)
            guard !newest.isEmpty else { return [] }
            // Without its database the gateway shows friends without names.
            let labels = (try? await names.labels(of: newest.map(\.id))) ?? [:]
            return OwnTracksFriends.messages(newest, labels: labels)
        }
    }

    private func lookUpFigures() async {
        if let hub = self.hub {
            self.figures.set(streams: hub.streamCount, trackables: hub.trackableCount)
            self.figures.set(isConnected: hub.liveState.isConnected(), of: "live")
        }
        if let intake = self.configuration.intake {
            self.figures.set(isConnected: intake.isConnected, of: "intake")
        }
        await self.figures.set(backlogOf: self.configuration.webhooks, in: Outbox(self.database))
    }

    /// Every route, and what goes before them.
    package func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ResponseMiddleware(origins: self.configuration.origins, metrics: self.metrics))
        router.add(middleware: OverlandAnswers(paths: self.configuration.phones.overlandPaths))
        let authenticator = Authenticator(store: self.access, configuration: self.configuration.access)
        router.add(middleware: AccessMiddleware(authenticator: authenticator, configuration: self.configuration.access))
        let checks = GatewayChecks(
            configuration: self.configuration, access: self.access, live: self.live, history: self.history)
        HealthRoutes(checks: checks.all, metrics: self.metrics) { await self.lookUpFigures() }.add(to: router)
        SessionRoutes(authenticator: authenticator, store: self.access, configuration: self.configuration.access).add(
            to: router)
        APIRoutes(
            history: self.history, live: self.live ?? .none, names: RuleStore(self.database), access: self.access
        ).add(to: router)
        if let hub = self.hub { LiveRoutes(hub: hub, history: self.history).add(to: router) }
        if let intake = self.configuration.intake {
            PhoneRoutes(
                configuration: self.configuration.phones, quarantine: Quarantine(database: self.database),
                friends: self.friends, commands: intake.commands,
                take: self.judged(self.figures.counted(intake.take))
            ).add(to: router)
        }
        PageRoutes(leaflet: self.configuration.leaflet, tiles: self.tiles).add(to: router)
        return router
    }

    /// Returns the same taking, which judges the clock of the device by the newest point of each batch.
    private func judged(_ take: @escaping PhoneRoutes.Take) -> PhoneRoutes.Take {
        guard let hub = self.hub else { return take }
        return { (id, batch) async throws(TrackingError) in
            let points = batch.records.compactMap { draft -> Location? in
                guard case .point(let point) = draft.content else { return nil }
                return point
            }
            if let newest = points.max(by: { $0.time < $1.time }) { hub.received(newest, of: id) }
            try await take(id, batch)
        }
    }
}
