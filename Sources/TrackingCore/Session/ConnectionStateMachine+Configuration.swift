extension ConnectionStateMachine {
    /// A version of MQTT.
    public enum Version: String, Hashable, Sendable {
        /// MQTT 5.
        case v5
        /// MQTT 3.1.1.
        case v311
    }

    /// The time limits and counts of the decisions.
    public struct Configuration: Hashable, Sendable {
        /// The number of endpoints, at least 1.
        public var endpoints: Int
        /// The names of the endpoints in messages for humans, in their order; empty for no names.
        public var endpointNames: [String] = []
        /// The only MQTT version to use; `nil` tries 5 and falls back to 3.1.1 where the broker's answer requires that.
        public var pinnedVersion: Version?
        /// The longest duration of an attempt, TLS and CONNACK included.
        public var connectTimeout: Duration
        /// The longest time until a PUBACK or SUBACK, after which the connection counts as dead.
        public var answerTimeout: Duration
        /// The first wait without jitter. Jitter shortens it to half of its length at most.
        public var firstWait: Duration
        /// The longest wait.
        public var longestWait: Duration
        /// The longest wait where the broker refuses the client's identity.
        public var longestRefusedWait: Duration
        /// The duration of a connection after which waits begin again with the first one.
        public var settlesAfter: Duration
        /// The number of shorter connections in a row after which a second program with the same client id is
        /// suspected.
        public var suspiciousCloses: Int
        /// A sentence that is appended to the reason when another connection uses the client id; `nil` appends none.
        public var takeoverRemedy: String?
        /// The longest time for writing a DISCONNECT.
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
