import ArgumentParser
import enum CoreMetrics.MetricsSystem
import FoundationEssentials
import GodwitOptions
import Logging
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingRoads
import TrackingMetrics
import TrackingRecorder
import TrackingStore
import TrackingSubscriber

/// `godwit serve`: the HTTP server for phones, the live map and the API.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve phones, a live map and an API over HTTP.",
        discussion: """
            The gateway belongs behind a proxy for TLS. With --store it also records into that history, unless \
            --acknowledge-by names a recorder. Without a reachable history it serves everything else and tries again, \
            unless --fail-fast is given. Exit code 66: the history or the address cannot be used. The options below \
            are enough for most gateways; --help-hidden shows all of them.

            Example:
              godwit serve --store sqlite:history.sqlite
            """)

    @Option(help: ArgumentHelp("Listen on this address and port; port 0 chooses a free port.", valueName: "host:port"))
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)

    @Option(
        help: ArgumentHelp(
            "Use this address, under which browsers and phones reach the gateway: https://tracks.example.org. With https, cookies are sent over TLS only, and X-Forwarded-For is trusted.",
            valueName: "url"),
        transform: GatewayURL.checked)
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Let pages of this other origin use the API: https://example.org. Repeatable. Default: none.",
            valueName: "origin", visibility: .hidden))
    var cors: [String] = []

    @Option(
        help: ArgumentHelp(
            "Allow each token this many requests a second, 0.1 to 100000; the requests of ten seconds may come at once.",
            valueName: "n", visibility: .hidden))
    var rateLimit = 100.0

    @Option(
        help: ArgumentHelp(
            "Accept request bodies of at most this many bytes after decompression, 1024 to 1073741824.",
            valueName: "bytes",
            visibility: .hidden))
    var maxBody = 8_388_608

    @Option(
        help: ArgumentHelp(
            "Show at most this many trackables live, 1 to 1000000. Each needs about 10 KB of memory.", valueName: "n",
            visibility: .hidden))
    var trackables = 10_000

    @Option(
        help: ArgumentHelp(
            "Sign in as this user, with the same password, for the connection that watches; for brokers that use the user name as the client id. Default: the same user.",
            valueName: "user", visibility: .hidden))
    var liveUser: String?

    @Flag(help: ArgumentHelp("Serve no history, even if there is one.", visibility: .hidden))
    var noStore = false

    @Option(
        help: ArgumentHelp(
            "Serve Leaflet from this folder. Default: that of Debian's libjs-leaflet.",
            valueName: "dir", visibility: .hidden))
    var leaflet = GatewayConfiguration.debianLeaflet

    @OptionGroup(title: "Map") var map: TileOptions
    @OptionGroup(title: "Share links") var sign: OperatorOptions
    @OptionGroup(title: "History") var store: StoreOptions
    @OptionGroup(title: "Phones") var phones: PhoneOptions
    @OptionGroup(title: "Gateway data") var state: StateOptions
    @OptionGroup(title: "Webhooks") var webhooks: WebhookOptions
    @OptionGroup(title: "Credentials of apps") var credentials: CredentialOptions
    @OptionGroup(title: "Acknowledgement") var intake: IntakeOptions
    @OptionGroup(title: "Broker and configuration") var broker: BrokerOptions

    func validate() throws {
        try TokenLimits(requestsPerSecond: self.rateLimit, bodyBytes: self.maxBody).check()
        guard (1...1_000_000).contains(self.trackables) else {
            throw ValidationError("--trackables must be 1 to 1000000, not \(self.trackables)")
        }
        for origin in self.cors where !GatewayURL.isOrigin(origin) {
            throw ValidationError(
                "--cors must be an origin without a path, as https://example.org or http://localhost:3000; not '\(origin.prefix(80))'"
            )
        }
    }

    func run() async throws {
        Program.startLogging(Logger.Level(rawValue: self.broker.logLevel) ?? .warning)
        let lock = try self.state.lock("gateway", for: "godwit serve")
        defer { withExtendedLifetime(lock) {} }
        let metrics = PrometheusRegistry(
            helps: GatewayMetrics.helps.merging(RecorderFigures.helps) { first, _ in first })
        MetricsSystem.bootstrap(metrics)
        let history = try await self.openHistory()
        let engine = try self.map.roads()
        let gateway = Result {
            let subscriber = try self.subscriber()
            var configuration = try self.configuration(history)
            configuration.roads = engine
            if self.broker.failFast { configuration.companions.append(BrokerWatch(events: subscriber.events)) }
            return try Gateway(
                configuration: configuration, subscriber: subscriber, history: history.store, metrics: metrics)
        }
        let ending = Ending()
        do { try await Program.run(try gateway.get()) } catch { ending.note(error) }
        do { try await history.store?.close() } catch { ending.note(error) }
        if let error = ending.error { throw error }
    }

    private func configuration(_ history: ServedHistory) throws -> GatewayConfiguration {
        let (host, url, file) = (self.listen.host, self.url, try GatewayAddress(in: self.state))
        var configuration = GatewayConfiguration(
            host: host, port: self.listen.port, database: try self.state.database()
        ) { port in
            let address = ListenAddress(host: host, port: port)
            do { try file.write(address, url: url) } catch {
                Logger(label: "godwit.gateway").warning(
                    "Address of the gateway could not be written to its state folder: godwit share needs --url",
                    metadata: ["reason": "\(error)"])
            }
            Program.note("listening on http://\(address)\n")
        }
        configuration.folder = try self.state.folderBesideServer()
        configuration.url = self.url
        configuration.origins = self.cors
        configuration.requestsPerSecond = self.rateLimit
        configuration.maximumBodyBytes = self.maxBody
        (configuration.webhooks, configuration.webhookKinds) = (try self.webhooks.webhooks(), self.webhooks.kinds)
        configuration.phones = try self.phones.configuration()
        configuration.intake = try self.intake.intake(
            self.broker, self.state, name: "gateway", remedy: try self.remedy(),
            recorder: history.isRecordedHere ? .running : .startedLater, takesCommands: self.phones.allowCommands)
        configuration.allowsCommands = self.phones.allowCommands
        configuration.historyFile = history.file
        configuration.isHistoryConfigured = self.store.store != nil
        if let store = history.store, history.isRecordedHere {
            configuration.companions = [
                try BuiltInRecorder(
                    store: store, file: history.file, broker: self.broker, gateway: try self.name(),
                    hasUsers: self.liveUser != nil)
            ]
        }
        configuration.leaflet = self.leaflet
        configuration.tiles = try self.map.source()
        configuration.credentials = try self.credentials.issuer(self.broker)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.brokerPort = try self.broker.addresses.first.map { BrokerPort($0.port, isTLS: $0.isTLS) }
        configuration.operatedBy = try self.sign.configuration()
        return configuration
    }

    /// Returns advice for the case that the gateway's connections end each other because they share one user at the
    /// broker. `nil` if the watching connection has a user of its own, or if the connections have neither a user nor a
    /// certificate.
    private func remedy() throws(TrackingError) -> String? {
        guard self.liveUser == nil else { return nil }
        let identity = try self.broker.identity()
        let live = identity.isRandom ? "USER" : "\(identity.client)-live"
        let user = try self.broker.user
        let isCertified = self.broker.certificate != nil && user == nil
        let option = isCertified ? "a user and a password in place of --cert, and --live-user" : "--live-user"
        return self.broker.sharedUserRemedy("\(option) \(live) (broker/add-gateway makes that user)")
    }

    /// Returns the gateway's name, with which the client ids of its connections begin: the client id from the options,
    /// otherwise `gateway`.
    private func name() throws(TrackingError) -> String {
        let identity = try self.broker.identity()
        return identity.isRandom ? "gateway" : "\(identity.client)"
    }

    /// Makes the one subscriber that watches every trackable on behalf of all users of the gateway. Its client id is
    /// the one given for it, otherwise the gateway's name with `-live`.
    private func subscriber() throws -> AssetSubscriber<MQTTTransport> {
        let identity = try self.broker.identity()
        var configuration = SubscriberConfiguration(
            client: try ClientID(self.liveUser ?? "\(try self.name())-live"), session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.watchesAll = true
        configuration.maximumTrackables = self.trackables
        configuration.prefers = .enhanced
        configuration.isPresentOnlyWhileAsking = true
        configuration.wantsRecorded = true
        configuration.wantsJourneys = true
        configuration.readsBrokerDrops = true
        return AssetSubscriber(
            configuration: configuration,
            transport: try self.broker.transport(for: configuration, user: self.liveUser, remedy: try self.remedy()))
    }
}

/// The host and the port on which a server of this program listens, such as `127.0.0.1:8080` or `[::1]:8080`.
struct ListenAddress: Hashable, ExpressibleByArgument, CustomStringConvertible {
    /// The host name or IP address on which the server listens. An IPv6 address has no brackets here.
    var host: String
    /// The port on which the server listens, 0…65535; 0 chooses a free port.
    var port: Int

    /// The address under which a browser on this computer reaches the server. It is the loopback address if the server
    /// listens on all addresses.
    var reachable: ListenAddress {
        switch self.host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: self.port)
        case "::": ListenAddress(host: "::1", port: self.port)
        default: self
        }
    }

    var description: String { "\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(self.port)" }

    init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...])
        else {
            return nil
        }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: Int(port))
    }
}
