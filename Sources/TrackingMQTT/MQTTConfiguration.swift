public import TrackingCore

/// How a connection is made and kept.
public struct MQTTConfiguration: Sendable {
    /// Files for TLS, all PEM. The broker's host name is always checked.
    public struct TLS: Hashable, Sendable {
        /// The authorities to trust; `nil` is the system's.
        public var authorities: String?
        /// This client's certificate.
        public var certificate: String?
        /// The certificate's key.
        public var key: String?

        /// Names the files.
        public init(authorities: String? = nil, certificate: String? = nil, key: String? = nil) {
            self.authorities = authorities
            self.certificate = certificate
            self.key = key
        }
    }

    /// Where the broker listens; tried in turn.
    public var endpoints: [MQTTEndpoint]
    /// The name of the connection.
    public var client: ClientID
    /// User name and password.
    public var credentials: MQTTCredentials?
    /// Files for TLS.
    public var tls = TLS()
    /// A version that is always used; `nil` tries 5 and falls back to 3.1.1 where the broker's answer calls for it.
    public var version: ConnectionStateMachine.Version?
    /// How long the broker may hear nothing from us; 5…60 s.
    public var keepAlive: Duration = .seconds(30)
    /// How long the broker may take to answer a publish or a subscription before the connection counts as dead.
    public var answerTimeout: Duration = .seconds(10)
    /// How long a connection may take until the broker accepts it.
    public var connectTimeout: Duration = .seconds(4)
    /// The longest wait before connecting again.
    public var longestWait: Duration = .seconds(60)
    /// How many publishes may be unanswered at once, 1…65,535.
    public var sendMaximum = 100
    /// How many received messages may be unacknowledged at once, 1…65,535 (MQTT 5).
    public var receiveMaximum = 100
    /// What the broker publishes when the connection ends without a goodbye; asked for before each attempt.
    public var will: (@Sendable (_ connection: Int) -> OutgoingMessage)?

    /// Makes a configuration with the defaults above.
    public init(endpoints: [MQTTEndpoint], client: ClientID) {
        self.endpoints = endpoints
        self.client = client
    }
}
