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

    /// The limits of memory for one connection. Reading from the broker stops while the program has too many unread
    /// events, by number or by bytes. A third limit is the size of a packet.
    public struct Limits: Hashable, Sendable {
        /// The number of unread events at which the client stops reading from the broker, apart from a few bytes now
        /// and then that keep the connection alive. Reading resumes when at most half of this number is left.
        public var waitingEvents = 8_192
        /// The number of unread payload bytes at which the client stops reading from the broker, apart from a few bytes
        /// now and then that keep the connection alive. Reading resumes when at most half of this number is left.
        public var waitingBytes = 4 * 1_024 * 1_024
        /// The size in bytes of the largest packet that the client accepts on MQTT 5, above 0. The client announces it
        /// when it connects, and the broker drops larger packets.
        public var packetSize = 300_000

        /// Creates limits of memory with the default values: 8,192 events, 4 MiB of payloads, and packets of 300,000
        /// bytes.
        public init() {}
    }

    /// The quality of service (QoS) of the subscriptions.
    public enum SubscriptionQoS: Int, Hashable, Sendable {
        /// The client does not acknowledge the messages that it receives.
        case atMostOnce = 0
        /// The client acknowledges each message that it receives.
        case atLeastOnce = 1
    }

    /// The broker's endpoints, in the order of the attempts; not empty.
    public var endpoints: [MQTTEndpoint]
    /// The MQTT client id with which the client connects to the broker.
    public var client: ClientID
    /// The lifetime of the client's subscriptions and messages at the broker.
    public var session = Session.clean
    /// The quality of service of the subscriptions of a clean session. A kept session always has
    /// ``SubscriptionQoS/atLeastOnce``.
    ///
    /// Use ``SubscriptionQoS/atMostOnce`` for clusters that make a copied queue of each subscription at QoS 1, such as
    /// RabbitMQ and NATS. A clean session ends with its connection, so the client loses the messages of an interrupted
    /// connection in both cases. Mosquitto drops messages at QoS 0 if a client reads too slowly.
    public var subscriptionQoS = SubscriptionQoS.atLeastOnce
    /// The time without a packet from the client to the broker after which the client sends a ping, 5 to 60 s.
    public var keepAlive = Duration.seconds(30)
    /// The user name and password with which the client signs in; `nil` for a broker that requires none. They have no
    /// effect if there is a ``credentialsProvider``.
    public var credentials: MQTTCredentials?
    /// The function that returns the client's credentials, for credentials that change; `nil` to use ``credentials``.
    ///
    ///     configuration.credentialsProvider = {
    ///         MQTTCredentials(user: "van-7-box", password: try await tokens.current())
    ///     }
    ///
    /// The client asks the provider:
    ///
    /// - before each attempt to connect. If the provider fails, the attempt fails, and the client tries again later.
    /// - once more, at once, if the broker refuses the credentials. With other credentials, the client connects again
    ///   at once. With the same ones, it waits as after any refusal: longer after each one, up to 15 minutes.
    /// - before the credentials of a connection expire (``MQTTCredentials/expiry``): a tenth of their lifetime earlier,
    ///   and 60 s earlier at most. With other credentials, the client disconnects in order and connects again at once.
    ///   The broker does not publish the client's will then. With the same ones, the client asks again each time that
    ///   half of the remaining time has passed. Credentials that expire within 5 s of their receipt are not renewed.
    public var credentialsProvider: MQTTCredentialsProvider?
    /// The certificate files for the connections to endpoints with TLS.
    public var tls = TLS()
    /// The only MQTT version that the client uses. With `nil`, the client tries MQTT 5, and uses 3.1.1 if the broker's
    /// answer shows that it does not support 5.
    public var version: ConnectionStateMachine.Version?
    /// The closure that returns the will: the message that the broker publishes when the connection ends without a
    /// DISCONNECT. `nil` for no will. The closure is called for each attempt to connect, on the thread of the event
    /// loop, so it must not block. It receives the number that the connection will have.
    public var will: (@Sendable (_ connection: Int) -> OutgoingMessage)?
    /// The number of messages that the broker may send before the client acknowledges one of them, 1 to 65,535. It
    /// applies only to MQTT 5.
    ///
    /// A small number can lose retained messages of a large subscription. Mosquitto queues the messages beyond this
    /// number, and drops those beyond its own setting `max_queued_messages` (1000 by default).
    public var receiveMaximum = 65_535
    /// The number of publishes that may wait for the broker's acknowledgement at the same time, 1 to 65,535. The client
    /// sends further publishes later. The broker may allow fewer.
    public var sendMaximum = 100
    /// `true` if the program itself decides when received messages are acknowledged, with
    /// `TransportCommand.acknowledge`. Use it for a connection that publishes nothing, and with a kept session. The
    /// broker then delivers unacknowledged messages again on the next connection.
    ///
    /// The client writes nothing to the broker while a received message is unacknowledged, not even a ping. If that
    /// lasts longer than half of ``keepAlive``, the client ends the connection.
    public var withholdsAcknowledgements = false
    /// The limits of memory for the connection.
    public var limits = Limits()
    /// The time limit of one attempt to connect, above 0. It includes the lookup of the host name, TLS, and the
    /// broker's acceptance.
    public var connectTimeout = Duration.seconds(4)
    /// The time limit for the broker's answer to a publish or a subscription, above 0. Without an answer in this time,
    /// the client counts the connection as lost.
    public var answerTimeout = Duration.seconds(10)
    /// The wait between the first and the second attempt to connect, above 0. The wait grows with each further attempt.
    /// A part of each wait is random.
    public var firstWait = Duration.milliseconds(500)
    /// The longest wait between two attempts to connect, above 0. While the broker refuses the client's identity (its
    /// credentials or rights), the longest wait is 15 minutes instead.
    public var longestWait = Duration.seconds(60)
    /// A sentence with advice for the user. It is appended to the error that another program connected with the same
    /// client id; `nil` appends none.
    public var takeoverRemedy: String?
    /// The logger that reports connects, disconnects, malformed packets and topics whose use is paused; `nil` for none.
    /// Credentials and payloads are never logged.
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

    /// Creates the configuration for the connection of a publisher or subscriber (a "member"). It has the member's
    /// client id and will. The will informs other members when the connection breaks.
    ///
    /// - Parameters:
    ///   - endpoints: The broker's endpoints, in the order of the attempts; not empty.
    ///   - member: The settings of the publisher or subscriber, which provide the client id and the will.
    public init(endpoints: [MQTTEndpoint], for member: some MemberConfiguration) {
        self.init(endpoints: endpoints, client: member.client)
        self.will = { connection in member.will(connection: connection) }
    }

    /// Checks that every property is within its range, and that the certificate files are readable.
    ///
    /// - Throws: `invalidConfiguration` with the name of the property and its range; `inputUnreadable` for a file that
    ///   cannot be read.
    public func validate() throws(TrackingError) {
        try Self.require(!self.endpoints.isEmpty, "cannot connect: no broker is given. Give at least one endpoint")
        for endpoint in self.endpoints {
            try Self.require(
                (1...65535).contains(endpoint.port), "the broker's port must be 1 to 65535, not \(endpoint.port)")
            try Self.require(!endpoint.host.isEmpty, "the broker's host must not be empty")
        }
        try Self.require(
            (.seconds(5) ... .seconds(60)).contains(self.keepAlive),
            "keepAlive must be 5 to 60 s, not \(self.keepAlive)")
        try Self.require(
            (1...65535).contains(self.receiveMaximum), "receiveMaximum must be 1 to 65535, not \(self.receiveMaximum)")
        try Self.require(
            (1...65535).contains(self.sendMaximum), "sendMaximum must be 1 to 65535, not \(self.sendMaximum)")
        try Self.require(
            self.limits.waitingEvents > 0 && self.limits.waitingBytes > 0 && self.limits.packetSize > 0,
            "every limit of the MQTT connection must be above 0")
        try self.validateTimes()
        try Self.require(
            (self.tls.certificate == nil) == (self.tls.key == nil),
            "the client certificate and its key must be given together")
        if case .kept(let duration) = self.session {
            let seconds = duration.components.seconds
            try Self.require((1...4_294_967_294).contains(seconds), "the broker must keep the session for 1 s or more")
        }
        try self.validateText()
    }

    /// The part of this configuration that the state machine of the connection needs: time limits, waits and names of
    /// endpoints.
    var decisions: ConnectionStateMachine.Configuration {
        var decisions = ConnectionStateMachine.Configuration(
            endpoints: self.endpoints.count, pinnedVersion: self.version, connectTimeout: self.connectTimeout,
            answerTimeout: self.answerTimeout, firstWait: self.firstWait, longestWait: self.longestWait)
        decisions.endpointNames = self.endpoints.map(\.description)
        decisions.takeoverRemedy = self.takeoverRemedy
        decisions.asksForCredentials = self.credentialsProvider != nil
        return decisions
    }

    private func validateTimes() throws(TrackingError) {
        let times = [
            ("connectTimeout", self.connectTimeout), ("answerTimeout", self.answerTimeout),
            ("firstWait", self.firstWait), ("longestWait", self.longestWait),
        ]
        for (name, time) in times { try Self.require(time > .zero, "\(name) must be above 0 s, not \(time)") }
    }

    private func validateText() throws(TrackingError) {
        try self.credentials?.validate()
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
