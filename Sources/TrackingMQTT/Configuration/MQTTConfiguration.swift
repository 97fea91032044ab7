public import Logging
public import TrackingCore

/// Everything an ``MQTTTransport`` is told. ``validate()`` says which value is out of its range.
public struct MQTTConfiguration: Sendable {
    /// Whether the broker keeps what belongs to the client while it is away.
    public enum Session: Hashable, Sendable {
        /// Nothing is kept: every connection begins empty.
        case clean
        /// Subscriptions and messages are kept this long after a connection ends: 1 s to 2³² − 2 s. On MQTT 3.1.1 the
        /// broker decides how long.
        case kept(for: Duration)
    }

    /// How far an unread event stream may grow before its connection is no longer read, and the largest packet.
    public struct Limits: Hashable, Sendable {
        /// Events that wait to be read: from this many on the connection is not read, from half of it on it is again.
        public var waitingEvents = 8_192
        /// Payload bytes that wait to be read, with the same effect.
        public var waitingBytes = 4 * 1_024 * 1_024
        /// The largest packet the broker may send on MQTT 5, in bytes, above 0; it drops larger ones.
        public var packetSize = 300_000

        /// The limits as described.
        public init() {}
    }

    /// Where the broker listens, in the order to try; not empty.
    public var endpoints: [MQTTEndpoint]
    /// The name of the connection.
    public var client: ClientID
    /// Whether the broker keeps what belongs to the client while it is away.
    public var session = Session.clean
    /// How long the connection may be silent, 5 to 60 s; a ping fills a longer silence.
    public var keepAlive = Duration.seconds(30)
    /// The user name and password; `nil` when the broker asks for none.
    public var credentials: MQTTCredentials?
    /// The files for endpoints with TLS.
    public var tls = TLS()
    /// A version that is always used; `nil` tries 5 and falls back to 3.1.1 where the broker's answer calls for it.
    public var version: ConnectionStateMachine.Version?
    /// What the broker publishes when the connection ends without a goodbye; asked anew for each attempt, with the number
    /// the connection will have. It runs on the loop's thread: it must not block.
    public var will: (@Sendable (_ connection: Int) -> OutgoingMessage)?
    /// How many messages the broker may have under way to us before we acknowledge, 1 to 65,535 (MQTT 5).
    public var receiveMaximum = 500
    /// How many of our publishes may be under way before the broker acknowledges, 1 to 65,535; the broker may allow fewer.
    public var sendMaximum = 100
    /// Whether the broker's messages are acknowledged only when `TransportCommand.acknowledge` says so, for a connection that
    /// publishes nothing. After an end without that the broker delivers them again, where the session is kept. Nothing at all
    /// is written meanwhile, a ping neither: what is withheld for longer than half of ``keepAlive`` ends the connection.
    public var withholdsAcknowledgements = false
    /// Bounds of memory.
    public var limits = Limits()
    /// How long a connection may take until the broker accepts it, TLS included; above 0.
    public var connectTimeout = Duration.seconds(4)
    /// How long the broker may take to answer a publish or a subscription before the connection counts as
    /// dead; above 0.
    public var answerTimeout = Duration.seconds(10)
    /// The first wait before connecting again, above 0; waits are jittered and grow from it.
    public var firstWait = Duration.milliseconds(500)
    /// What the waits grow to, above 0; where the broker refused who we are, they grow to 15 minutes.
    public var longestWait = Duration.seconds(60)
    /// A sentence that is added to the reason when another connection has the client id, for a program that may have caused
    /// that itself; `nil` adds none.
    public var takeoverRemedy: String?
    /// Where changes of the connection are logged; neither credentials nor payloads appear. Nowhere when `nil`.
    public var logger: Logger?

    /// Makes a configuration with the defaults as described.
    public init(endpoints: [MQTTEndpoint], client: ClientID) {
        self.endpoints = endpoints
        self.client = client
    }

    /// Makes the configuration of a publisher's or subscriber's connection: its client id, and the will that tells everyone
    /// at once when it dies without a goodbye.
    public init(endpoints: [MQTTEndpoint], for member: some MemberConfiguration) {
        self.init(endpoints: endpoints, client: member.client)
        self.will = { connection in member.will(connection: connection) }
    }

    /// Checks every range.
    ///
    /// - Throws: `invalidConfiguration` that names the value.
    public func validate() throws(TrackingError) {
        try Self.require(!self.endpoints.isEmpty, "a connection needs at least one broker")
        for endpoint in self.endpoints {
            try Self.require((1...65535).contains(endpoint.port), "the port is 1 to 65535, not \(endpoint.port)")
            try Self.require(!endpoint.host.isEmpty, "the broker's host is empty")
        }
        try Self.require(
            (.seconds(5) ... .seconds(60)).contains(self.keepAlive), "keepAlive is 5 to 60 s, not \(self.keepAlive)")
        try Self.require((1...65535).contains(self.receiveMaximum), "receiveMaximum is 1 to 65535")
        try Self.require((1...65535).contains(self.sendMaximum), "sendMaximum is 1 to 65535")
        try Self.require(
            self.limits.waitingEvents > 0 && self.limits.waitingBytes > 0 && self.limits.packetSize > 0,
            "limits are above 0")
        try self.validateTimes()
        try Self.require(
            (self.tls.certificate == nil) == (self.tls.key == nil),
            "a client certificate and its key are given together")
        if case .kept(let duration) = self.session {
            let seconds = duration.components.seconds
            try Self.require((1...4_294_967_294).contains(seconds), "a session is kept for 1 s or more")
        }
        try self.validateText()
    }

    /// What the decisions are made with.
    var decisions: ConnectionStateMachine.Configuration {
        var decisions = ConnectionStateMachine.Configuration(
            endpoints: self.endpoints.count, pinnedVersion: self.version, connectTimeout: self.connectTimeout,
            answerTimeout: self.answerTimeout, firstWait: self.firstWait, longestWait: self.longestWait)
        decisions.endpointNames = self.endpoints.map(\.description)
        decisions.takeoverRemedy = self.takeoverRemedy
        return decisions
    }

    private func validateTimes() throws(TrackingError) {
        let times = [
            ("connectTimeout", self.connectTimeout), ("answerTimeout", self.answerTimeout),
            ("firstWait", self.firstWait), ("longestWait", self.longestWait),
        ]
        for (name, time) in times { try Self.require(time > .zero, "\(name) is above 0 s, not \(time)") }
    }

    private func validateText() throws(TrackingError) {
        let credentials = [self.credentials?.user, self.credentials?.password].compactMap { $0 }
        try Self.require(
            credentials.allSatisfy { $0.utf8.count <= 65535 && !$0.utf8.contains(0) },
            "a user name or password has at most 65535 bytes, none of them 0")
        for path in [self.tls.authorities, self.tls.certificate, self.tls.key].compactMap({ $0 })
        where !LocalFile.isReadable(path) {
            throw TrackingError(.inputUnreadable, "the file \(path) cannot be read")
        }
    }

    private static func require(_ condition: Bool, _ message: String) throws(TrackingError) {
        if !condition { throw TrackingError(.invalidConfiguration, message) }
    }
}
