extension ConnectionStateMachine {
    /// A version of MQTT.
    public enum Version: String, Hashable, Sendable {
        /// MQTT 5.
        case v5
        /// MQTT 3.1.1.
        case v311
    }

    /// The numbers of the decisions.
    public struct Configuration: Hashable, Sendable {
        /// How many endpoints there are, from 1.
        public var endpoints: Int
        /// What the endpoints are called where a person is told of one, in their order; none are named when empty.
        public var endpointNames: [String] = []
        /// A version that is always used; `nil` tries 5 and falls back to 3.1.1 where the broker's answer calls for it.
        public var pinnedVersion: Version?
        /// How long an attempt may take, TLS and CONNACK included.
        public var connectTimeout: Duration
        /// How long a PUBACK or SUBACK may take before the connection counts as dead.
        public var answerTimeout: Duration
        /// The first wait, at most; its half at least.
        public var firstWait: Duration
        /// What waits grow to.
        public var longestWait: Duration
        /// What waits grow to where the broker refused who we are.
        public var longestRefusedWait: Duration
        /// How long a connection stands before waits begin anew.
        public var settlesAfter: Duration
        /// How many connections in a row, closed sooner than that, are reported as a suspected double client id.
        public var suspiciousCloses: Int
        /// A sentence that is added to the reason when another connection has the client id; `nil` adds none.
        public var takeoverRemedy: String?
        /// How long a DISCONNECT may take to be written.
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
