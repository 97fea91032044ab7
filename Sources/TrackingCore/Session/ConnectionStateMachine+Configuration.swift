extension ConnectionStateMachine {
    /// A version of MQTT with which a client connects to the broker.
    public enum Version: String, Hashable, Sendable {
        /// Version 5 of MQTT.
        case v5
        /// Version 3.1.1 of MQTT.
        case v311
    }

    /// The settings of a client's connection to the broker: time limits, waits between attempts, and counts.
    public struct Configuration: Hashable, Sendable {
        /// The number of configured broker addresses (endpoints), at least 1. The client tries them in turn.
        public var endpoints: Int
        /// The names by which error messages call the broker's addresses, in the order of the addresses. An address
        /// without a name is called "the broker".
        public var endpointNames: [String] = []
        /// The only MQTT version to use. With `nil`, the client tries MQTT 5 and falls back to 3.1.1 if the broker does
        /// not accept MQTT 5.
        public var pinnedVersion: Version?
        /// `true` if the client asks a provider for its credentials before each attempt to connect. `false` if its
        /// credentials never change, or if it has none.
        public var asksForCredentials = false
        /// The longest time that the provider of the credentials may take for an answer.
        public var credentialsTimeout: Duration = .seconds(15)
        /// The longest duration of an attempt to connect, TLS handshake and CONNACK included.
        public var connectTimeout: Duration
        /// The longest time that the broker may take to answer a PUBLISH or SUBSCRIBE. A connection without an answer
        /// for this time counts as lost.
        public var answerTimeout: Duration
        /// The first wait before another attempt to connect, after a lost connection or after all broker addresses
        /// failed. Further waits grow. Each wait is shortened at random by at most half.
        public var firstWait: Duration
        /// The longest wait between two attempts to connect, unless the broker refused the client's id, credentials or
        /// rights. The limit is then ``longestRefusedWait``.
        public var longestWait: Duration
        /// The longest wait between two attempts to connect while the broker refuses the client's id, credentials or
        /// rights.
        public var longestRefusedWait: Duration
        /// The duration of a connection from which it counts as stable. After the loss of such a connection, the waits
        /// between attempts begin with the shortest one again.
        public var settlesAfter: Duration
        /// The number of short connections in a row, each shorter than ``settlesAfter``, from which the client suspects
        /// a second program with the same client id. A connection that ended because of missing rights or a malformed
        /// packet is not counted.
        public var suspiciousCloses: Int
        /// A sentence with a remedy for the case that another program uses the same client id. It is appended to the
        /// error message; `nil` appends none.
        public var takeoverRemedy: String?
        /// The longest time for sending the DISCONNECT packet. After this time, the connection is closed without it.
        public var goodbyeTimeout: Duration

        /// Makes the settings of a client's connection to the broker.
        public init(
            endpoints: Int, pinnedVersion: Version? = nil, connectTimeout: Duration = .seconds(4),
            answerTimeout: Duration = .seconds(10), firstWait: Duration = .milliseconds(500),
            longestWait: Duration = .seconds(60), longestRefusedWait: Duration = .seconds(15 * 60),
            settlesAfter: Duration = .seconds(10), suspiciousCloses: Int = 4, goodbyeTimeout: Duration = .seconds(1)
        ) {
            self.endpoints = endpoints
            self.pinnedVersion = pinnedVersion
            self.connectTimeout = connectTimeout
            self.answerTimeout = answerTimeout
            self.firstWait = firstWait
            self.longestWait = longestWait
            self.longestRefusedWait = longestRefusedWait
            self.settlesAfter = settlesAfter
            self.suspiciousCloses = suspiciousCloses
            self.goodbyeTimeout = goodbyeTimeout
        }

        func endpointName(_ index: Int) -> String {
            self.endpointNames.indices.contains(index) ? self.endpointNames[index] : "the broker"
        }
    }
}
