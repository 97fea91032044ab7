/// Decides about one client's connection to the broker: the time of each attempt, its endpoint and MQTT version, the
/// waits, the detection of a dead connection, and the end. The machine uses no socket, clock or log.
///
/// Each method is named after an event and returns the actions that follow, in order. The driver calls
/// ``timerFired(now:)`` at ``nextDeadline``; the call of an outdated timer is ignored.
public struct ConnectionStateMachine: Sendable {
    /// An action that the driver of the connection performs, as plain data.
    public enum Action: Hashable, Sendable {
        /// Open a new connection and send CONNECT. Answered by ``ConnectionStateMachine/accepted(sessionPresent:now:)``
        /// or ``ConnectionStateMachine/attemptFailed(_:now:)``.
        case connect(Attempt)
        /// Close the connection or the current attempt without a DISCONNECT.
        case abandon
        /// Send DISCONNECT, so that the broker publishes no will. Answered by
        /// ``ConnectionStateMachine/goodbyeSent(now:)``.
        case sendGoodbye
        /// Deliver the event `.connected` or `.disconnected` to the role (publisher, subscriber or recorder) that uses
        /// the connection.
        case deliver(TransportEvent)
        /// End the event stream of the connection: no further event follows.
        case finish
    }

    /// One attempt to connect to the broker.
    public struct Attempt: Hashable, Sendable {
        /// The endpoint, as an index into the configured list.
        public var endpoint: Int
        /// The MQTT version.
        public var version: Version
        /// The number of the connection within the session, counted from 0, that the attempt makes if the broker
        /// accepts it.
        public var connection: Int
        /// `true` to ask the broker to retain the will; `false` after the broker has refused a retained will.
        public var retainsWill: Bool

        /// Makes an attempt.
        public init(endpoint: Int, version: Version, connection: Int, retainsWill: Bool = true) {
            self.endpoint = endpoint
            self.version = version
            self.connection = connection
            self.retainsWill = retainsWill
        }
    }

    /// The way in which an attempt to connect failed.
    public enum Failure: Hashable, Sendable {
        /// CONNECT could not be sent: the name or the route is unknown, no program listens, or TLS failed.
        case unreachable(TrackingError)
        /// CONNECT was sent, and the broker closed the connection without a CONNACK. Older brokers answer MQTT 5 in
        /// this way.
        case closedUnanswered(TrackingError)
        /// The broker refused the connection in its CONNACK, with the reason in the error's `reasonCode`.
        case refused(TrackingError)

        /// The error of the failure.
        public var error: TrackingError {
            switch self {
            case .unreachable(let error), .closedUnanswered(let error), .refused(let error): error
            }
        }
    }

    enum State: Hashable, Sendable {
        /// Before ``started(now:)``. Can transition to: `connecting`, `ended`.
        case idle
        /// CONNECT is sent. Can transition to: `connecting`, `online`, `waiting`, `ended`.
        case connecting(Attempt, until: MonotonicTime)
        /// The machine waits before another attempt. Can transition to: `connecting`, `ended`.
        case waiting(until: MonotonicTime)
        /// The broker accepted the connection. Can transition to: `connecting`, `waiting`, `closing`, `leaving`,
        /// `ended`.
        case online(Attempt, since: MonotonicTime, unanswered: MonotonicTime?)
        /// The role closed the connection, and the broker's answers to earlier requests are outstanding. Can transition
        /// to: `leaving`, `ended`.
        case closing(since: MonotonicTime, until: MonotonicTime)
        /// DISCONNECT is being written. Can transition to: `ended`.
        case leaving(since: MonotonicTime, until: MonotonicTime)
        /// The connection ended for good. Final.
        case ended
    }

    let configuration: Configuration
    var state = State.idle
    var generator: SplitMix64
    /// The MQTT version that each endpoint has accepted, by the endpoint's index.
    var known: [Int: Version] = [:]
    /// The indices of the endpoints whose brokers support no retained messages and therefore refuse a retained will.
    var withoutRetain: Set<Int> = []
    var endpoint = 0
    var connections = 0
    /// The waits between attempts. They begin again after a connection that lasted ``Configuration/settlesAfter``.
    var backoff: Backoff
    /// The number of endpoints that were tried without success since the last wait.
    var triedInRound = 0
    /// The number of connections in a row that the broker closed soon after they were made.
    var shortLives = 0

    /// Creates a machine that is not started.
    ///
    /// - Parameters:
    ///   - configuration: The settings; at least one endpoint.
    ///   - seed: The seed of the random part of the waits; different in every process.
    public init(configuration: Configuration, seed: UInt64) {
        precondition(configuration.endpoints > 0, "a connection needs at least one endpoint")
        self.configuration = configuration
        self.backoff = Backoff(first: configuration.firstWait, maximum: configuration.longestWait, jitter: 0.5)
        self.generator = SplitMix64(seed: seed)
    }

    /// The time at which ``timerFired(now:)`` is to be called; `nil` when the machine waits for nothing.
    public var nextDeadline: MonotonicTime? {
        switch self.state {
        case .idle, .ended: nil
        case .connecting(_, let until), .waiting(let until), .closing(_, let until), .leaving(_, let until): until
        case .online(_, _, let unanswered): unanswered.map { $0.advanced(by: self.configuration.answerTimeout) }
        }
    }

    /// `true` while the broker has accepted the connection, so that commands can be sent.
    public var isOnline: Bool {
        switch self.state {
        case .online, .closing: true
        case .idle, .connecting, .waiting, .leaving, .ended: false
        }
    }

    /// `true` after the role requested the end of the connection or the connection ended. Later commands are ignored.
    public var isClosing: Bool {
        switch self.state {
        case .closing, .leaving, .ended: true
        case .idle, .connecting, .waiting, .online: false
        }
    }

    /// Starts the machine. Call it once, before any other method.
    public mutating func started(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .idle: return [self.connect(now: now)]
        case .ended: return []  // closed before it began
        case .connecting, .waiting, .online, .closing, .leaving:
            preconditionFailure("started() is called once, before anything else; state is \(self.state)")
        }
    }

    /// Handles that the broker accepted the connection.
    ///
    /// - Parameters:
    ///   - sessionPresent: `true` when the broker kept the client's session and its subscriptions.
    ///   - now: The time on the monotonic clock.
    /// - Returns: The actions that follow, in order.
    public mutating func accepted(sessionPresent: Bool, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .connecting(let attempt, _):
            self.known[attempt.endpoint] = attempt.version
            self.connections += 1
            self.triedInRound = 0
            self.state = .online(attempt, since: now, unanswered: nil)
            return [.deliver(.connected(connection: attempt.connection, sessionPresent: sessionPresent))]
        case .idle, .waiting, .online, .closing, .leaving, .ended:
            return []  // an answer to an attempt that was given up
        }
    }

    /// Handles the failure of the current attempt, whose connection is closed. Returns the actions that follow, in
    /// order.
    public mutating func attemptFailed(_ failure: Failure, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .connecting(let attempt, _):
            if self.fallsBack(attempt, on: failure) {
                self.state = .idle
                return [self.connect(now: now, version: .v311)]
            }
            if self.refusesRetain(attempt, failure) {
                self.withoutRetain.insert(attempt.endpoint)
                self.state = .idle
                return [self.connect(now: now, version: attempt.version)]
            }
            return self.failed(failure, now: now)
        case .idle, .waiting, .online, .closing, .leaving, .ended:
            return []
        }
    }

    /// Handles the loss of the connection for the given reason. Returns the actions that follow, in order.
    public mutating func connectionLost(_ reason: TrackingError, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .online(_, let since, _):
            return self.lost(reason, since: since, now: now)
        case .closing(let since, _), .leaving(let since, _):
            return self.end(reason, since: since, now: now)
        case .idle, .connecting, .waiting, .ended:
            return []
        }
    }

    /// Sets the time at which the oldest unanswered PUBLISH or SUBSCRIBE was sent; `nil` when all are answered, or
    /// while the driver itself reads nothing. After ``Configuration/answerTimeout`` without an answer, the connection
    /// counts as lost.
    public mutating func answersAwaited(since unanswered: MonotonicTime?) {
        if case .online(let attempt, let since, _) = self.state {
            self.state = .online(attempt, since: since, unanswered: unanswered)
        }
    }

    /// Handles the role's request to end the connection in order.
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait for the broker's outstanding answers.
    ///   - now: The time on the monotonic clock.
    /// - Returns: The actions that follow, in order.
    public mutating func closeRequested(within limit: Duration, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .online(_, let since, _):
            guard limit > .zero else { return self.leave(since: since, now: now) }
            self.state = .closing(since: since, until: now.advanced(by: limit))
            return []
        case .closing(let since, let until):
            guard limit > .zero else { return self.leave(since: since, now: now) }
            self.state = .closing(since: since, until: min(until, now.advanced(by: limit)))
            return []
        case .connecting:
            return [.abandon] + self.end(nil, since: nil, now: now)
        case .idle, .waiting:
            return self.end(nil, since: nil, now: now)
        case .leaving, .ended:
            return []
        }
    }

    /// Ends the connection at once, because its task was cancelled. Unless the role has requested the end, the broker
    /// receives no DISCONNECT and publishes the will, because the role has published no farewell.
    public mutating func cancelled(now: MonotonicTime) -> [Action] {
        guard case .online(_, let since, _) = self.state else { return self.closeRequested(within: .zero, now: now) }
        return [.abandon] + self.end(nil, since: since, now: now)
    }

    /// Handles the role's request to connect now: ends a current wait between attempts. At other times the request has
    /// no effect.
    public mutating func tryRequested(now: MonotonicTime) -> [Action] {
        guard case .waiting = self.state else { return [] }
        return [self.connect(now: now)]
    }

    /// Handles that the broker has answered every request. A connection that is closing sends its DISCONNECT now.
    public mutating func drained(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .closing(let since, _): return self.leave(since: since, now: now)
        case .idle, .connecting, .waiting, .online, .leaving, .ended: return []
        }
    }

    /// Handles that the DISCONNECT was written and the connection closed.
    public mutating func goodbyeSent(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .leaving(let since, _): return self.end(nil, since: since, now: now)
        case .idle, .connecting, .waiting, .online, .closing, .ended: return []
        }
    }

    /// Handles the expiry of ``nextDeadline``: a failed attempt, the end of a wait, or a broker that does not answer.
    /// The call of an outdated timer has no effect.
    public mutating func timerFired(now: MonotonicTime) -> [Action] {
        guard let deadline = self.nextDeadline, now >= deadline else { return [] }
        switch self.state {
        case .waiting:
            return [self.connect(now: now)]
        case .connecting:
            let name = self.configuration.endpointName(self.endpoint)
            let error = TrackingError(
                .brokerUnreachable,
                "cannot connect: \(name) did not answer within \(self.configuration.connectTimeout)")
            return [.abandon] + self.failed(.unreachable(error), now: now)
        case .online(_, let since, _):
            let error = TrackingError(
                .connectionLost,
                """
                connection to the broker ended: the broker left a message unanswered for \
                \(self.configuration.answerTimeout)
                """)
            return [.abandon] + self.lost(error, since: since, now: now)
        case .closing(let since, _):
            return self.leave(since: since, now: now)
        case .leaving(let since, _):
            return [.abandon] + self.end(nil, since: since, now: now)
        case .idle, .ended:
            return []
        }
    }
}
