public import ServiceLifecycle
public import TrackingCore
package import TrackingRules

/// The settings of a gateway, such as its address, its database, its limits, its map tiles and its webhooks. They do
/// not change while the gateway runs.
public struct GatewayConfiguration: Sendable {
    /// The IP address or host name on which the gateway listens for HTTP.
    public var host: String
    /// The TCP port on which the gateway listens; with 0 the system chooses a free port.
    public var port: Int
    /// The gateway's own database of tokens, share links, sessions and rules: the path of a file in a folder that
    /// exists, or the URL of a PostgreSQL database, which several gateways can share.
    public var database: String
    /// The folder of the gateway's other files, such as cached map tiles; `nil` for the folder of the database's file.
    public var folder: String?
    /// The public address of the gateway for browsers, without a slash at the end, such as
    /// `https://tracks.example.org`; `nil` if it is not known.
    public var url: String?
    /// The origins of other web sites whose pages may read the gateway's API (CORS), such as
    /// `https://maps.example.org`; empty for none.
    public var origins: [String] = []
    /// The largest number of bytes in the body of an HTTP request, also after decompression; 1 or more. A token can
    /// have a limit of its own instead.
    public var maximumBodyBytes = 8_388_608
    /// The folder with the JavaScript library Leaflet, which the map page uses.
    public var leaflet = GatewayConfiguration.debianLeaflet
    /// The source of the map tiles below the markers; `nil` to show a grid instead of a map.
    public var tiles: Tiles?
    /// The routing engine that matches recorded points with roads; `nil` if there is none.
    public var roads: (any RoadEngine)?
    /// The operator, whose name and logo the page of a share link shows; `nil` to show none.
    public var operatedBy: GatewayOperator?
    /// The settings of the HTTP routes for phones, such as the paths for Overland and the keys of OwnTracks.
    package var phones = PhoneRoutes.Configuration()
    /// The default limit of the requests with one token: the largest number at once, and the number per second in the
    /// long run.
    package var rateLimit = RateLimit(burst: 1000, perSecond: 100)
    /// The limit of the requests with an invalid token or share link from one client address: the largest number at
    /// once, and the number per second in the long run.
    package var failureLimit = RateLimit(burst: 20, perSecond: 1)
    /// The longest time that a client may take to send a request's header or body, or to receive a part of the answer.
    /// Each received KB of a body adds a second, up to ten times this time.
    package var patience = Duration.seconds(30)
    /// The time limit of one check of `/readyz`. A check without an answer in this time counts as failed.
    package var checkPatience = HealthRoutes.patience
    /// The largest number of open connections. Further connections wait to be accepted. If the system allows fewer file
    /// descriptors, the limit is their number minus 200, but at least 16.
    public var maximumConnections = 20_000
    /// The webhooks: the HTTP addresses to which the gateway posts messages about events, trips and positions.
    package var webhooks: [Webhook] = []
    /// The kinds of messages that the webhooks receive: events, trips and positions, or only some of these kinds.
    package var webhookKinds = Set(Outbox.Kind.allCases)
    /// The service that publishes ingested records; `nil` if the gateway does not ingest records.
    public var intake: Intake?
    /// `true` if administrators may send commands to devices over HTTP.
    public var allowsCommands = false
    /// The issuer of the credentials of apps for the broker; `nil` if the gateway issues none.
    package var credentials: CredentialIssuer?
    /// The port of the broker, for the commands that the map page prints; `nil` to print them without the broker.
    package var brokerPort: BrokerPort?
    /// The topic root of the trackables, for the rights of the credentials of apps.
    package var topicRoot = TopicRoot.standard
    /// Further services that run as long as the gateway, such as a recorder. At a shutdown they end after ``intake``,
    /// because a recorder must still acknowledge the intake's records.
    public var companions: [any Service] = []
    /// The path of the history's file. The gateway is not ready while the file's disk is full. `nil` if there is no
    /// such file, for example because the history is on a database server.
    public var historyFile: String?
    /// `true` if the operator configured a history. While this history does not exist, the gateway is not ready.
    public var isHistoryConfigured = false
    /// A function that the gateway calls once, with its TCP port, when it listens for HTTP.
    public var listening: @Sendable (Int) async -> Void

    /// The folder in which Debian's package libjs-leaflet installs its files.
    public static let debianLeaflet = "/usr/share/javascript/leaflet"

    /// The source of the map tiles: a tile server, a file or a routing engine.
    public enum Tiles: Hashable, Sendable {
        /// A tile server, from which browsers load the tiles themselves.
        case server(TileURL)
        /// A file of raster or vector tiles (MBTiles), which the gateway serves.
        case file(path: String)
        /// A routing engine. The gateway fetches its streets as vector tiles, and caches them beside its database.
        case engine(EngineURL)
    }

    /// Creates a configuration with the default value of each setting that is not given.
    ///
    /// - Parameters:
    ///   - host: The IP address or host name to listen on.
    ///   - port: The port to listen on; with 0 the system chooses a free port.
    ///   - database: The path of the gateway's own database, or its URL.
    ///   - listening: A function that the gateway calls with its port once it listens.
    public init(
        host: String, port: Int, database: String, listening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.database = database
        self.listening = listening
    }

    /// The path of a file, which need not exist, in the folder of the gateway's files.
    var fileInFolder: String { self.folder.map { "\($0)/gateway.sqlite" } ?? self.database }

    /// `true` when the public address begins with `https:`. All requests then come through a TLS proxy, which reports
    /// the address of each client in `X-Forwarded-For`.
    var isBehindProxy: Bool { self.url?.hasPrefix("https:") == true }

    /// The settings for the authentication of requests: the public address, the limits of bodies and of requests, and
    /// the paths that need no token.
    package var access: AccessConfiguration {
        AccessConfiguration(
            url: self.url, maximumBodyBytes: self.maximumBodyBytes, rateLimit: self.rateLimit,
            failureLimit: self.failureLimit, isPublic: PageRoutes.isForEverybody)
    }

    /// The limits of the gateway's HTTP connections: their number, their number for each client address, and the time
    /// that clients may take.
    var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            patience: self.patience, maximum: ConnectionLimits.maximum(atMost: self.maximumConnections),
            isBehindProxy: self.isBehindProxy)
    }

    /// The default limit of one token, in requests per second, > 0. A token may also send as many requests at once as
    /// it may send in ten seconds.
    public var requestsPerSecond: Double {
        get { self.rateLimit.perSecond }
        set { self.rateLimit = RateLimit(perSecond: newValue) }
    }
}
