public import Logging
public import TrackingCore

/// The settings of an ``MQTTTransport``. ``validate()`` checks their ranges.
public struct MQTTConfiguration: Sendable {
    /// The lifetime of the client's subscriptions and messages at the broker.
    public enum Session: Hashable, Sendable {
        /// The broker keeps nothing: every connection begins without subscriptions and messages.
        case clean
        /// The broker keeps subscriptions and messages for this time after a connection ends: 1 s to 2³² − 2 s. On MQTT
        /// 3.1.1 the broker chooses the time.
        case kept(for: Duration)
    }

    /// The limits of memory for one connection: the sizes of the unread event stream at which reading from the broker
    /// stops, and the size of the largest packet.
    public struct Limits: Hashable, Sendable {
        /// The number of unread events at which reading from the connection stops. Reading resumes at half of it.
        public var waitingEvents = 8_192
        /// The number of unread payload bytes at which reading from the connection stops. Reading resumes at half of
        /// it.
        public var waitingBytes = 4 * 1_024 * 1_024
        /// The largest packet that the broker may send on MQTT 5, in bytes, above 0. The broker drops larger ones.
        public var packetSize = 300_000

        /// Creates the default limits.
        public init() {}
    }

    /// The broker's endpoints, in the order of the attempts; not empty.
    public var endpoints: [MQTTEndpoint]
    /// The client id of the connection.
    public var client: ClientID
    /// The lifetime of the client's subscriptions and messages at the broker.
    public var session = Session.clean
    /// The longest time without a packet to the broker, 5 to 60 s. The client then sends a ping.
    public var keepAlive = Duration.seconds(30)
    /// The user name and password; `nil` for a broker that requires none.
    public var credentials: MQTTCredentials?
    /// The certificate files for endpoints with TLS.
    public var tls = TLS()
    /// The only MQTT version to use; `nil` tries 5 and falls back to 3.1.1 where the broker's answer requires that.
    public var version: ConnectionStateMachine.Version?
    /// Returns the will: the message that the broker publishes when the connection ends without a DISCONNECT. The
    /// closure is called for each attempt, with the number that the connection will have, on the loop's thread. It must
    /// not block.
    public var will: (@Sendable (_ connection: Int) -> OutgoingMessage)?
    /// The number of messages that the broker may send before the client acknowledges one of them, 1 to 65,535 (MQTT
    /// 5).
    ///
    /// Mosquitto queues the messages beyond this number, and drops those beyond its `max_queued_messages` (1000 if not
    /// configured). With a small number, a subscription to many retained messages loses some of them.
    public var receiveMaximum = 65_535
    /// The number of the client's publishes that may wait for the broker's acknowledgement, 1 to 65,535. The broker may
    /// allow fewer.
    public var sendMaximum = 100
    /// `true` to acknowledge the broker's messages only with `TransportCommand.acknowledge`, for a connection that
    /// publishes nothing. In a kept session, the broker delivers unacknowledged messages again after the connection
    /// ends. The client writes nothing while it withholds an acknowledgement, not even a ping: an acknowledgement
    /// withheld for longer than half of ``keepAlive`` ends the connection.
    public var withholdsAcknowledgements = false
    /// The limits of memory for the connection.
    public var limits = Limits()
    /// The longest duration of an attempt to connect, from the lookup of the name to the broker's acceptance, TLS
    /// included; above 0.
    public var connectTimeout = Duration.seconds(4)
    /// The longest time until the broker answers a publish or a subscription, after which the connection counts as
    /// dead; above 0.
    public var answerTimeout = Duration.seconds(10)
    /// The wait before the second attempt to connect, above 0. Later waits grow from it, and each has a random part.
    public var firstWait = Duration.milliseconds(500)
    /// The longest wait between two attempts to connect, above 0. While the broker refuses the client's identity, the
    /// longest wait is 15 minutes.
    public var longestWait = Duration.seconds(60)
    /// A sentence with a remedy, appended to the error when another connection uses the same client id; `nil` appends
    /// none.
    public var takeoverRemedy: String?
    /// The logger of connection changes; `nil` for none. Credentials and payloads are never logged.
    public var logger: Logger?

    /// Creates a configuration with the default values of all other properties.
    ///
    /// - Parameters:
    ///   - endpoints: The broker's endpoints, in the order of the attempts; not empty.
    ///   - client: The client id of the connection.
    public init(endpoints: [MQTTEndpoint], client: ClientID) {
        self.endpoints = endpoints
        self.client = client
    }

    /// Creates the configuration of a publisher's or subscriber's connection. It has the member's client id, and the
    /// will that informs other members when the connection ends without an orderly farewell.
    ///
    /// - Parameters:
    ///   - endpoints: The broker's endpoints, in the order of the attempts; not empty.
    ///   - member: The client id, session and topic root of the publisher or subscriber.
    public init(endpoints: [MQTTEndpoint], for member: some MemberConfiguration) {
        self.init(endpoints: endpoints, client: member.client)
        self.will = { connection in member.will(connection: connection) }
    }

    /// Checks that every property is within its range.
    ///
    /// - Throws: `invalidConfiguration` with the name of the property and its range.
    public func validate() throws(TrackingError) {
        try Self.require(!self.endpoints.isEmpty, "a connection needs at least one broker")
        for endpoint in self.endpoints {
            try Self.require((1...65535).contains(endpoint.port), "the port is 1 to 65535, not \(endpoint.port)")
            try Self.require(!endpoint.host.isEmpty, "the broker's host is empty")
        }
        try Self.require(
            (.seconds(5) ... .seconds(60)).contains(self.keepAlive), "keepAlive is 5 to 60 s, not \(self.keepAlive)")
        try Self.require(
            (1...65535).contains(self.receiveMaximum), "receiveMaximum is 1 to 65535, not \(self.receiveMaximum)")
        try Self.require((1...65535).contains(self.sendMaximum), "sendMaximum is 1 to 65535, not \(self.sendMaximum)")
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

    /// The configuration of the connection's state machine.
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
            throw TrackingError(
                .inputUnreadable, "cannot read the TLS file \(path). Check its path and its permissions")
        }
    }

    private static func require(_ condition: Bool, _ message: String) throws(TrackingError) {
        if !condition { throw TrackingError(.invalidConfiguration, message) }
    }
}
