public import ServiceLifecycle

/// What a gateway is told once.
public struct GatewayConfiguration: Sendable {
    /// The address to listen on.
    public var host: String
    /// The port to listen on; 0 takes a free one.
    public var port: Int
    /// Where its own database is: tokens, share links, sessions. The folder exists.
    public var database: String
    /// How it is reached from outside, without a slash at the end: `https://tracks.example.org`. `nil` where that is not known.
    public var url: String?
    /// Other origins whose pages may read the API; none where CORS is off.
    public var origins: [String] = []
    /// The most bytes of a request's body, after decompression; 1 or more.
    public var maximumBodyBytes = 8_388_608
    /// The folder of Leaflet and its markercluster.
    public var leaflet = GatewayConfiguration.debianLeaflet
    /// What is drawn beneath the markers; `nil`: a grid.
    public var tiles: Tiles?
    /// Where phones send what they recorded, and what they are told.
    package var phones = PhoneRoutes.Configuration()
    /// How often one token may ask.
    package var rateLimit = RateLimit(burst: 1000, perSecond: 100)
    /// How often one address is told that a token is worth nothing, before it is told to wait.
    package var failureLimit = RateLimit(burst: 20, perSecond: 1)
    /// How long a peer may take: to send a header, to send a request (with a second more for each KB, up to ten times as long),
    /// to take some of an answer.
    package var patience = Duration.seconds(30)
    /// The most connections at once; those that are more wait to be accepted. The system's limit of descriptors less 200 is the
    /// most all the same.
    public var maximumConnections = 20_000
    /// Who is told by HTTP of what happens.
    package var webhooks: [Webhook] = []
    /// What they are told of.
    package var webhookKinds = Set(Outbox.Kind.allCases)
    /// What publishes what comes in; `nil` where nothing does.
    public var intake: Intake?
    /// The services that run as long as the gateway, and end after ``intake``.
    public var companions: [any Service] = []
    /// The path of the history's file, whose disk counts for the readiness; `nil` where the history is on a server.
    public var historyFile: String?
    /// A Boolean value that indicates whether a history that does not exist is a reason not to be ready.
    public var isHistoryConfigured = false
    /// Told the port once it listens.
    public var listening: @Sendable (Int) async -> Void

    /// Where Debian's libjs-leaflet and libjs-leaflet.markercluster are.
    public static let debianLeaflet = "/usr/share/javascript/leaflet"

    /// Where the pictures of a map come from.
    public enum Tiles: Hashable, Sendable {
        /// A server, which browsers ask.
        case server(TileURL)
        /// A file of raster tiles (MBTiles), which the gateway serves.
        case file(path: String)
    }

    /// Makes a configuration with the defaults above.
    public init(
        host: String, port: Int, database: String, listening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.host = host
        self.port = port
        self.database = database
        self.listening = listening
    }

    /// `true` where a proxy that speaks TLS brings all requests, and says whose each is.
    var isBehindProxy: Bool { self.url?.hasPrefix("https:") == true }

    /// The limits of the connections.
    var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            patience: self.patience, maximum: ConnectionLimits.maximum(atMost: self.maximumConnections),
            isBehindProxy: self.isBehindProxy)
    }

    /// How many requests a second one token may make in the long run, > 0; ten seconds' worth of them may come at once.
    public var requestsPerSecond: Double {
        get { self.rateLimit.perSecond }
        set { self.rateLimit = RateLimit(perSecond: newValue) }
    }
}
