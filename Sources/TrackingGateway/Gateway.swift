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

/// The HTTP server of Godwit: the map page, the API, the ingest of phones, webhooks and rules, connected to the broker
/// and the history.
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
    /// The other services of the gateway, such as the intake and the live hub. They run as long as the HTTP server.
    private var services: [any Service] = []
    private var hub: LiveHub?
    private var commands: CommandDesk?
    private var journeys: JourneyDesk?
    private let tiles: MapTiles?
    private let credentials: CredentialDesk?

    /// Creates a gateway that serves the history but no live positions. Opens the gateway's database, or creates it.
    /// The gateway listens on its address once it runs.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the gateway.
    ///   - history: The recorded history, which the gateway does not close; `nil` for none.
    ///   - metrics: The metrics that the path `/metrics` shows.
    ///   - logger: The logger of the gateway.
    /// - Throws: `storeUnusable`, `storeFailed` for the database; `inputUnreadable` for a file of map tiles.
    public init(
        configuration: GatewayConfiguration, history: (any HistoryStore)? = nil,
        metrics: PrometheusRegistry = PrometheusRegistry(), logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        try self.init(configuration: configuration, history: history, live: nil, metrics: metrics, logger: logger)
    }

    /// Creates a gateway with the given live positions, for tests and for programs without a subscriber. Opens the
    /// gateway's database, or creates it.
    ///
    /// - Parameter live: The live positions; `nil` for none.
    /// - Throws: `storeUnusable`, `storeFailed` for the database; `inputUnreadable` for a file of map tiles.
    package init(
        configuration: GatewayConfiguration, history: (any HistoryStore)? = nil, live: LiveState?,
        metrics: PrometheusRegistry = PrometheusRegistry(), logger: Logger = Logger(label: "godwit.gateway")
    ) throws(TrackingError) {
        self.configuration = configuration
        self.history = history
        self.live = live
        self.metrics = metrics
        self.figures = GatewayFigures(metrics)
        self.tiles = try configuration.tiles.map { (tiles) throws(TrackingError) in
            try MapTiles(tiles, beside: configuration.fileInFolder, logger: logger)
        }
        self.database = try GatewayDatabase(at: configuration.database)
        self.access = AccessStore(self.database)
        let store = CredentialStore(self.database)
        self.credentials = configuration.credentials.map { issuer in
            CredentialDesk(
                store: store, issuer: issuer, root: configuration.topicRoot,
                broker: configuration.phones.broker.map { [$0] } ?? [])
        }
        self.logger = logger
        // Services end in the reverse order of their start: the intake ends before a companion recorder, which
        // acknowledges the intake's records.
        self.services += configuration.companions
        if let intake = configuration.intake { self.services.append(intake) }
        if let desk = self.credentials { self.services.append(CredentialWatch(desk: desk, logger: logger)) }
    }

    /// Creates a gateway that shows the live positions that a subscriber receives, and that runs this subscriber.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the gateway.
    ///   - subscriber: A subscriber that watches all trackables, receives journeys, and is present only while it
    ///     requests a resolution (``/TrackingSubscriber/SubscriberConfiguration/isPresentOnlyWhileAsking``).
    ///   - history: The recorded history, which the gateway does not close; `nil` for none.
    ///   - metrics: The metrics that the path `/metrics` shows.
    ///   - logger: The logger of the gateway.
    /// - Throws: `storeUnusable`, `storeFailed` for the database; `inputUnreadable` for a file of map tiles.
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
        try self.init(
            configuration: configuration, history: history, live: hub.liveState, metrics: metrics, logger: logger)
        self.hub = hub
        if configuration.allowsCommands {
            self.commands = CommandDesk(events: { subscriber.events }) { (command, id) throws(TrackingError) in
                try await subscriber.send(command, to: id)
            }
            self.journeys = JourneyDesk { (journey, id) throws(TrackingError) in
                try await subscriber.setJourney(journey, of: id)
            } arrives: {
                await hub.hasJourney($0, of: $1, until: $2)
            }
        }
        let gate = OutboxGate()
        let webhooks = self.webhooks(gate)
        // Of the gateways that share a database, the one that evaluates the rules also delivers to the webhooks.
        let isShared = self.database.isShared
        let name: String? = if let folder = configuration.folder { try Erasures.gateway(in: folder) } else { nil }
        self.services += [
            subscriber, hub, self.rules(of: subscriber, gate, isShared ? webhooks : nil),
            RevocationWatch(hub: hub, database: self.database),
            Eraser(
                database: self.database, name: name, history: history,
                intake: configuration.intake, cleared: cleared, logger: logger),
        ]
        if let webhooks, !isShared { self.services.append(webhooks) }
    }

    /// Returns the service that delivers the outbox to the webhooks; `nil` without webhooks.
    private func webhooks(_ gate: OutboxGate) -> WebhookService? {
        guard !self.configuration.webhooks.isEmpty else { return nil }
        let recipients = self.configuration.webhooks.enumerated().map { number, webhook in
            WebhookService.Recipient(webhook, figures: self.figures.webhook(webhook, number))
        }
        return WebhookService(
            recipients, kinds: self.configuration.webhookKinds, database: self.database, gate: gate,
            logger: self.logger)
    }

    private func rules<Transport: MessageTransport>(
        of subscriber: AssetSubscriber<Transport>, _ gate: OutboxGate, _ webhooks: WebhookService?
    ) -> RulesService {
        let clock = DeviceClock()
        let figures = self.figures
        return RulesService(
            configuration: RulesService.Configuration(
                kinds: self.configuration.webhooks.isEmpty ? [] : self.configuration.webhookKinds,
                readers: self.configuration.webhooks.map(\.reader), related: [Quarantine.erasable],
                trackables: subscriber.configuration.maximumTrackables * 2,
                seed: UInt64.random(in: .min ... .max), now: { clock.moment.wall }),
            database: self.database, events: subscriber.everyPublishedEvent, history: self.history, gate: gate,
            companion: webhooks,
            effects: RulesService.Effects(
                publish: { (event, id) throws(TrackingError) in
                    try await subscriber.publish(event, of: id)
                    figures.countRuleEvent()
                },
                dropped: { figures.countDroppedForWebhooks($0) }),
            logger: self.logger)
    }

    /// Serves HTTP requests until a graceful shutdown or cancellation.
    ///
    /// - Throws: `inputUnreadable` if the gateway cannot listen on its address.
    public func run() async throws {
        // At a shutdown the server waits for all answers to end. Live streams have no end, so the hub ends them.
        try await withGracefulShutdownHandler {
            try await ListenFailure.named(host: self.configuration.host, port: self.configuration.port) {
                try await self.application().run()
            }
        } onGracefulShutdown: { [hub] in
            hub?.finish()
        }
    }

    /// Returns the HTTP server with all routes and services, to be run.
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

    /// The function that returns the friends for the answer to an OwnTracks phone. Friends are the positions of the
    /// other trackables that the phone's token may read, with the names that the operator gave them.
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

    /// Returns the router with all routes and middleware of the gateway.
    package func router() -> Router<GatewayRequestContext> {
        let router = Router(context: GatewayRequestContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ResponseMiddleware(origins: self.configuration.origins, metrics: self.metrics))
        router.add(middleware: OverlandAnswers(paths: self.configuration.phones.overlandPaths))
        let authenticator = Authenticator(store: self.access, configuration: self.configuration.access)
        router.add(middleware: AccessMiddleware(authenticator: authenticator, configuration: self.configuration.access))
        let checks = GatewayChecks(
            configuration: self.configuration, access: self.access, live: self.live, history: self.history)
        let patience = self.configuration.checkPatience
        HealthRoutes(checks: checks.all, patience: patience, metrics: self.metrics) { await self.lookUpFigures() }
            .add(to: router)
        SessionRoutes(
            authenticator: authenticator, store: self.access, configuration: self.configuration.access,
            broker: self.configuration.brokerPort
        ).add(to: router)
        APIRoutes(
            history: self.history, live: self.live ?? .none, names: RuleStore(self.database), access: self.access,
            roads: self.configuration.roads
        ).add(to: router)
        AdminRoutes(
            database: self.database, history: self.history, live: self.live ?? .none,
            configuration: self.configuration.access, commands: self.commands, journeys: self.journeys,
            credentials: self.credentials
        ).add(to: router)
        if let hub = self.hub { LiveRoutes(hub: hub, history: self.history).add(to: router) }
        if let intake = self.configuration.intake {
            PhoneRoutes(
                configuration: self.configuration.phones, quarantine: Quarantine(database: self.database),
                friends: self.friends, commands: intake.commands,
                take: self.judged(self.figures.counted(intake.take))
            ).add(to: router)
        }
        ShareRoutes(authenticator: authenticator, names: RuleStore(self.database)).add(to: router)
        PageRoutes(leaflet: self.configuration.leaflet, tiles: self.tiles, of: self.configuration.operatedBy).add(
            to: router)
        return router
    }

    /// Returns a function that first compares the newest point of a batch with the gateway's clock, and then calls
    /// `take`, which makes the records of the batch durable. The comparison detects a device whose clock is ahead.
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
