public import ServiceLifecycle
package import TrackingRules

/// The settings of a gateway, fixed while it runs.
public struct GatewayConfiguration: Sendable {
    /// The address to listen on.
    public var host: String
    /// The port to listen on; 0 takes a free one.
    public var port: Int
    /// The path of the gateway's own database of tokens, share links and sessions. Its folder exists.
    public var database: String
    /// The address of the gateway for browsers, without a slash at the end: `https://tracks.example.org`. `nil` while
    /// unknown.
    public var url: String?
    /// Other origins whose pages may read the API; none where CORS is off.
    public var origins: [String] = []
    /// The most bytes of a request's body, after decompression; 1 or more.
    public var maximumBodyBytes = 8_388_608
    /// The folder of Leaflet and its markercluster.
    public var leaflet = GatewayConfiguration.debianLeaflet
    /// The map tiles beneath the markers; `nil` for a grid.
    public var tiles: Tiles?
    /// The settings of the routes for phones.
    package var phones = PhoneRoutes.Configuration()
    /// The default request limit of one token.
    package var rateLimit = RateLimit(burst: 1000, perSecond: 100)
    /// The limit of failed authentication attempts of one address.
    package var failureLimit = RateLimit(burst: 20, perSecond: 1)
    /// The longest time a peer may take to send a header, to send a request, or to read part of an answer. Each KB of a
    /// request adds a second, up to ten times this time.
    package var patience = Duration.seconds(30)
    /// The most connections at once; those that are more wait to be accepted. The system's limit of descriptors less 200 is the
    /// most all the same.
    public var maximumConnections = 20_000
    /// The webhooks that receive events over HTTP.
    package var webhooks: [Webhook] = []
    /// The kinds of events that the webhooks receive.
    package var webhookKinds = Set(Outbox.Kind.allCases)
    /// The service that publishes ingested records; `nil` for no ingest.
    public var intake: Intake?
    /// The services that run as long as the gateway, and end after ``intake``.
    public var companions: [any Service] = []
    /// The path of the history's file, whose disk counts for the readiness; `nil` where the history is on a server.
    public var historyFile: String?
    /// A Boolean value that indicates whether a history that does not exist is a reason not to be ready.
    public var isHistoryConfigured = false
    /// Called with the port once the server listens.
    public var listening: @Sendable (Int) async -> Void

    /// The folder of Debian's libjs-leaflet and libjs-leaflet.markercluster.
    public static let debianLeaflet = "/usr/share/javascript/leaflet"

    /// The source of the map tiles.
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

    /// The settings of authentication and sessions.
    package var access: AccessConfiguration {
        AccessConfiguration(
            url: self.url, maximumBodyBytes: self.maximumBodyBytes, rateLimit: self.rateLimit,
            failureLimit: self.failureLimit, isPublic: PageRoutes.isForEverybody)
    }

    /// The limits of the connections.
    var connectionLimits: ConnectionLimits {
        ConnectionLimits(
            patience: self.patience, maximum: ConnectionLimits.maximum(atMost: self.maximumConnections),
            isBehindProxy: self.isBehindProxy)
    }

    /// The request limit of one token, in requests per second, > 0. A burst of ten seconds' worth is allowed.
    public var requestsPerSecond: Double {
        get { self.rateLimit.perSecond }
        set { self.rateLimit = RateLimit(perSecond: newValue) }
    }
}
