extension ConnectionStateMachine {
    /// A version of MQTT.
    public enum Version: String, Hashable, Sendable {
        /// MQTT 5.
        case v5
        /// MQTT 3.1.1.
        case v311
    }

    /// The settings of a client's connection: time limits, waits and counts.
    public struct Configuration: Hashable, Sendable {
        /// The number of broker addresses (endpoints) to try in turn, at least 1.
        public var endpoints: Int
        /// The names of the endpoints for error texts, in the order of the endpoints. When empty, a text names no
        /// endpoint.
        public var endpointNames: [String] = []
        /// The only MQTT version to use; `nil` tries 5 and falls back to 3.1.1 where the broker's answer requires that.
        public var pinnedVersion: Version?
        /// The longest duration of an attempt to connect, TLS handshake and CONNACK included.
        public var connectTimeout: Duration
        /// The longest time that the broker may take to answer a PUBLISH or SUBSCRIBE. After it, the connection counts
        /// as lost.
        public var answerTimeout: Duration
        /// The wait before the second attempt to connect. Jitter shortens it by at most half.
        public var firstWait: Duration
        /// The longest wait between two attempts to connect.
        public var longestWait: Duration
        /// The longest wait between two attempts to connect while the broker refuses the client's identity (client id
        /// or password).
        public var longestRefusedWait: Duration
        /// The duration of a connection after which the waits between attempts begin again with the first one.
        public var settlesAfter: Duration
        /// The number of connections in a row, each shorter than ``settlesAfter``, after which the machine suspects a
        /// second program with the same client id.
        public var suspiciousCloses: Int
        /// A sentence with a remedy, appended to the error when another connection uses the same client id; `nil`
        /// appends none.
        public var takeoverRemedy: String?
        /// The longest time for writing a DISCONNECT packet. After it, the connection is closed without one.
        public var goodbyeTimeout: Duration

        /// Makes a configuration.
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
