/// Decides when to connect, to which endpoint, in which version of MQTT, how long to wait and when to give up.
/// Touches no socket, no clock, no log.
public struct ConnectionStateMachine: Sendable {
    /// A version of MQTT.
    public enum Version: Hashable, Sendable {
        case v311
        case v5
    }

    /// What to decide with.
    public struct Configuration: Hashable, Sendable {
        /// How many endpoints there are, ≥ 1.
        public var endpoints: Int
        /// A version that is always used; `nil` tries 5 and falls back to 3.1.1 where the broker's answer calls for it.
        public var pinnedVersion: Version?
        /// How long a connection may take until the broker accepts it.
        public var connectTimeout: Duration = .seconds(4)
        /// The first wait after a failure; each next one is twice as long.
        public var firstWait: Duration = .milliseconds(500)
        /// The longest wait.
        public var longestWait: Duration = .seconds(60)
        /// The longest wait after the broker refused the credentials.
        public var longestRefusedWait: Duration = .seconds(900)
        /// A connection that stood this long was a good one: waits begin anew after it.
        public var stableAfter: Duration = .seconds(10)

        /// Makes a configuration with the defaults above.
        public init(endpoints: Int, pinnedVersion: Version? = nil) {
            self.endpoints = endpoints
            self.pinnedVersion = pinnedVersion
        }
    }

    /// What is to be done.
    public enum Action: Hashable, Sendable {
        /// Connect to this endpoint, in this version.
        case open(endpoint: Int, Version)
        /// Say DISCONNECT, which sends no will.
        case sayGoodbye
        /// Close the connection, whatever its state.
        case drop
        /// Tell the caller.
        case tell(TransportEvent)
        /// Tell the caller that nothing more will come.
        case end
    }

    enum State: Hashable, Sendable {
        /// Not started. Can transition to: `connecting`, `ended`.
        case idle
        /// CONNECT is on its way. Can transition to: `online`, `waiting`, `connecting` (a fallback), `ended`.
        case connecting(until: MonotonicTime)
        /// The broker accepted. Can transition to: `waiting`, `closing`, `ended`.
        case online(since: MonotonicTime)
        /// Sleeping before another try. Can transition to: `connecting`, `ended`.
        case waiting(until: MonotonicTime)
        /// Flushing before the goodbye. Can transition to: `ended`.
        case closing(until: MonotonicTime)
        /// Final.
        case ended
    }

    private let configuration: Configuration
    private var random: SplitMix64
    private(set) var state = State.idle
    private var endpoint = 0
    private var failures = 0
    private var shortLives = 0
    private var fellBack: Set<Int> = []
    /// How often the broker accepted; the next connection's number.
    public private(set) var connections = 0

    /// Starts idle.
    ///
    /// - Parameter seed: What the jitter of the waits is drawn from.
    public init(configuration: Configuration, seed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
    }

    /// When ``timerFired(now:)`` has something to do; `nil` when never.
    public var nextDeadline: MonotonicTime? {
        switch self.state {
        case .connecting(let until), .waiting(let until), .closing(let until): until
        case .idle, .online, .ended: nil
        }
    }

    /// Whether commands may be given to the connection.
    public var isOnline: Bool {
        switch self.state {
        case .online, .closing: true
        case .idle, .connecting, .waiting, .ended: false
        }
    }

    /// Begin.
    public mutating func started(now: MonotonicTime) -> [Action] {
        guard case .idle = self.state else { return [] }
        return self.open(now: now)
    }

    /// The broker accepted the connection.
    public mutating func accepted(sessionPresent: Bool, now: MonotonicTime) -> [Action] {
        guard case .connecting = self.state else { return [] }
        self.state = .online(since: now)
        defer { self.connections += 1 }
        return [.tell(.connected(connection: self.connections, sessionPresent: sessionPresent))]
    }

    /// The broker answered CONNECT with a refusal; codes in the numbering of MQTT 5.
    public mutating func refused(_ error: TrackingError, now: MonotonicTime) -> [Action] {
        guard case .connecting = self.state else { return [] }
        let isAboutVersion = error.reasonCode == 0x84 || error.reasonCode == 0x01
        if isAboutVersion, self.fallBack() { return [.drop] + self.open(now: now) }
        return self.fail(error, lasted: nil, now: now)
    }

    /// The connection is gone, or could not be made.
    ///
    /// - Parameter wasSilent: Whether it closed after CONNECT without an answer, as brokers without MQTT 5 may do.
    public mutating func lost(_ error: TrackingError, wasSilent: Bool = false, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .connecting:
            if wasSilent, self.fallBack() { return [.drop] + self.open(now: now) }
            return self.fail(error, lasted: nil, now: now)
        case .online(let since):
            let lasted = since.duration(to: now)
            self.shortLives = lasted < self.configuration.stableAfter ? self.shortLives + 1 : 0
            if self.shortLives == 0 { self.failures = 0 }
            guard self.shortLives >= 4 else { return self.fail(error, lasted: lasted, now: now) }
            let suspicion = TrackingError(
                .connectionLost,
                "the connection was closed \(self.shortLives) times soon after connecting, lastly because: "
                    + "\(error.message); another program may use the same client id, or the broker's rules may forbid "
                    + "what is said first")
            return self.fail(suspicion, lasted: lasted, now: now)
        case .closing:
            return self.end(reason: nil)
        case .idle, .waiting, .ended:
            return []
        }
    }

    /// The next deadline has come, or another reason to look.
    public mutating func timerFired(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .connecting(let until) where now >= until:
            let seconds = self.configuration.connectTimeout.inSeconds
            return self.fail(
                TrackingError(.brokerUnreachable, "the broker did not answer within \(seconds) s"), lasted: nil, now: now)
        case .waiting(let until) where now >= until:
            return self.open(now: now)
        case .closing(let until) where now >= until:
            return [.sayGoodbye] + self.end(reason: nil)
        case .idle, .connecting, .online, .waiting, .closing, .ended:
            return []
        }
    }

    /// The caller wants to close in order, once what is outstanding is answered or the time is over.
    public mutating func closeAsked(within limit: Duration, isFlushed: Bool, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .online:
            guard !isFlushed, limit > .zero else { return [.sayGoodbye] + self.end(reason: nil) }
            self.state = .closing(until: now.advanced(by: limit))
            return []
        case .idle, .connecting, .waiting:
            return self.end(reason: nil)
        case .closing, .ended:
            return []
        }
    }

    /// Everything outstanding is answered.
    public mutating func flushed() -> [Action] {
        guard case .closing = self.state else { return [] }
        return [.sayGoodbye] + self.end(reason: nil)
    }

    // MARK: - Steps

    private mutating func open(now: MonotonicTime) -> [Action] {
        self.state = .connecting(until: now.advanced(by: self.configuration.connectTimeout))
        let version = self.configuration.pinnedVersion ?? (self.fellBack.contains(self.endpoint) ? .v311 : .v5)
        return [.open(endpoint: self.endpoint, version)]
    }

    /// Whether 3.1.1 is to be tried on this endpoint from now on.
    private mutating func fallBack() -> Bool {
        self.configuration.pinnedVersion == nil && self.fellBack.insert(self.endpoint).inserted
    }

    private mutating func fail(_ error: TrackingError, lasted: Duration?, now: MonotonicTime) -> [Action] {
        self.endpoint = (self.endpoint + 1) % self.configuration.endpoints
        self.failures += 1
        let isRefusal = [.badCredentials, .notAuthorized].contains(error.code)
        let longest = isRefusal ? self.configuration.longestRefusedWait : self.configuration.longestWait
        // A whole round of endpoints is one step of the back-off.
        let steps = min((self.failures - 1) / self.configuration.endpoints, 16)
        let wait = min(self.configuration.firstWait * (1 << steps), longest)
        let jittered = wait * Double.random(in: 0.5...1, using: &self.random)
        self.state = .waiting(until: now.advanced(by: jittered))
        return [.drop, .tell(.disconnected(Disconnection(reason: error, retry: jittered, lasted: lasted)))]
    }

    private mutating func end(reason: TrackingError?) -> [Action] {
        self.state = .ended
        return [.drop, .tell(.disconnected(Disconnection(reason: reason, retry: nil, lasted: nil))), .end]
    }
}
