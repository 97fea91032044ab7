import ArgumentParser
import enum CoreMetrics.MetricsSystem
import FoundationEssentials
import GodwitOptions
import Logging
import TrackingCore
import TrackingGateway
import TrackingMQTT
import TrackingMetrics
import TrackingRecorder
import TrackingStore
import TrackingSubscriber

/// `godwit serve`: the HTTP server beside broker and history.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve phones, a live map and an API over HTTP.",
        discussion: """
            Behind a proxy that speaks TLS. With --store it records into that history itself, unless --acknowledge-by names a \
            recorder. Ends with 66 where the history cannot be used or the address cannot be listened on. A history that is away \
            or does not exist yet is waited for, unless --fail-fast asks to end: what needs no history is served meanwhile.
            """)

    @Option(help: ArgumentHelp("The address and port to listen on; port 0 takes a free one.", valueName: "host:port"))
    var listen = ListenAddress(host: "127.0.0.1", port: 8080)

    @Option(
        help: ArgumentHelp(
            "How it is reached from outside: https://tracks.example.org. With https, cookies are for TLS alone, and X-Forwarded-For is believed.",
            valueName: "url"),
        transform: GatewayURL.checked)
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Another origin whose pages may read the API: https://example.org; can be repeated. Default: none.",
            valueName: "origin"))
    var cors: [String] = []

    @Option(
        help: ArgumentHelp(
            "How many requests a second one token may make in the long run, 0.1 to 100000; ten seconds' worth may come at once.",
            valueName: "n"))
    var rateLimit = 100.0

    @Option(
        help: ArgumentHelp(
            "The most bytes of a request's body, after decompression, 1024 to 1073741824.", valueName: "bytes"))
    var maxBody = 8_388_608

    @Option(
        help: ArgumentHelp(
            "The user of the connection that watches, with the same password; where the broker makes the user name the client id. Default: the same user.",
            valueName: "user"))
    var liveUser: String?

    @Flag(help: "Serve no history, whether or not there is one.")
    var noStore = false

    @Option(
        help: ArgumentHelp(
            "The folder of Leaflet and its markercluster. Default: where Debian's libjs-leaflet and libjs-leaflet.markercluster install them.",
            valueName: "dir"))
    var leaflet = GatewayConfiguration.debianLeaflet

    @Option(
        help: ArgumentHelp(
            "A server of map tiles: https://tiles.example.org/{z}/{x}/{y}.png. Browsers ask it. Default: a plain grid.",
            valueName: "url"))
    var tiles: String?

    @Option(
        help: ArgumentHelp("A file of raster tiles (MBTiles), which the gateway serves itself.", valueName: "path"))
    var mbtiles: String?

    @OptionGroup var webhooks: WebhookOptions
    @OptionGroup var phones: PhoneOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var intake: IntakeOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup var broker: BrokerOptions

    func validate() throws {
        try TokenLimits(requestsPerSecond: self.rateLimit, bodyBytes: self.maxBody).check()
        do throws(TrackingError) { _ = try self.tiles.map(TileURL.init) } catch { throw ValidationError(error.message) }
        for origin in self.cors where !GatewayURL.isOrigin(origin) {
            throw ValidationError(
                "--cors is an origin, as https://example.org or http://localhost:3000, without a path: not '\(origin.prefix(80))'"
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
        let gateway = Result {
            try Gateway(
                configuration: try self.configuration(history), subscriber: try self.subscriber(),
                history: history.store, metrics: metrics)
        }
        let ending = Ending()
        do { try await Program.run(try gateway.get()) } catch { ending.note(error) }
        do { try await history.store?.close() } catch { ending.note(error) }
        if let error = ending.error { throw error }
    }

    private func configuration(_ history: ServedHistory) throws -> GatewayConfiguration {
        let host = self.listen.host
        var configuration = GatewayConfiguration(
            host: host, port: self.listen.port, database: try self.state.path(for: "gateway.sqlite")
        ) { port in
            Program.note("listening on http://\(ListenAddress(host: host, port: port))\n")
        }
        configuration.url = self.url
        configuration.origins = self.cors
        configuration.requestsPerSecond = self.rateLimit
        configuration.maximumBodyBytes = self.maxBody
        (configuration.webhooks, configuration.webhookKinds) = (try self.webhooks.webhooks(), self.webhooks.kinds)
        configuration.phones = try self.phones.configuration()
        configuration.intake = try self.intake.intake(
            self.broker, self.state, name: "gateway", remedy: try self.remedy(),
            recorder: history.isRecordedHere ? .running : .startedLater, takesCommands: self.phones.allowCommands)
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
        guard self.tiles == nil || self.mbtiles == nil else {
            throw TrackingError(.invalidConfiguration, "give --tiles or --mbtiles, not both")
        }
        if let tiles = self.tiles { configuration.tiles = .server(try TileURL(tiles)) }
        if let path = self.mbtiles { configuration.tiles = .file(path: path) }
        return configuration
    }

    /// The remedy where both connections have the same user; `nil` where each has its own.
    private func remedy() throws(TrackingError) -> String? {
        guard self.liveUser == nil else { return nil }
        let identity = try self.broker.identity()
        let live = identity.isRandom ? "USER" : "\(identity.client)-live"
        let user = try self.broker.user
        let isCertified = self.broker.certificate != nil && user == nil
        let option = isCertified ? "a user and a password in place of --cert, and --live-user" : "--live-user"
        return self.broker.sharedUserRemedy("\(option) \(live) (broker/add-gateway makes that user)")
    }

    /// The gateway's name, from which those of its connections are made.
    private func name() throws(TrackingError) -> String {
        let identity = try self.broker.identity()
        return identity.isRandom ? "gateway" : "\(identity.client)"
    }

    /// One connection that hears everything, for however many look: its name is the gateway's with `-live` behind it.
    private func subscriber() throws -> AssetSubscriber<MQTTTransport> {
        let identity = try self.broker.identity()
        var configuration = SubscriberConfiguration(
            client: try ClientID(self.liveUser ?? "\(try self.name())-live"), session: identity.session)
        configuration.topicRoot = try TopicRoot(self.broker.topicRoot)
        configuration.watchesAll = true
        configuration.isPresentOnlyWhileAsking = true
        configuration.wantsRecorded = true
        configuration.readsBrokerDrops = true
        return AssetSubscriber(
            configuration: configuration,
            transport: try self.broker.transport(for: configuration, user: self.liveUser, remedy: try self.remedy()))
    }
}

/// An address to listen on, as `127.0.0.1:8080` or `[::1]:8080`.
struct ListenAddress: Hashable, ExpressibleByArgument, CustomStringConvertible {
    /// A name or an address, without brackets.
    var host: String
    /// 0…65535; 0 takes a free one.
    var port: Int

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
