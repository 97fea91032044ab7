/// The decisions about one client's connection: the time of each attempt, its endpoint and MQTT version, the waits, the
/// detection of a dead connection, and the end. It touches no socket, clock or log.
///
/// Each method is named after an event and returns the actions that follow, in order. The driver calls
/// ``timerFired(now:)`` at ``nextDeadline``; an outdated timer is ignored.
public struct ConnectionStateMachine: Sendable {
    /// An output, as plain data: one case is one call of the driver.
    public enum Action: Hashable, Sendable {
        /// Open a new connection and send CONNECT. Answered by ``ConnectionStateMachine/accepted(sessionPresent:now:)``
        /// or ``ConnectionStateMachine/attemptFailed(_:now:)``.
        case connect(Attempt)
        /// Close the connection or the current attempt without a DISCONNECT.
        case abandon
        /// Send DISCONNECT, so that the broker publishes no will. Answered by
        /// ``ConnectionStateMachine/goodbyeSent(now:)``.
        case sendGoodbye
        /// Tell the role: `.connected` or `.disconnected`, nothing else.
        case deliver(TransportEvent)
        /// Nothing comes any more.
        case finish
    }

    /// One attempt to connect.
    public struct Attempt: Hashable, Sendable {
        /// The endpoint, as an index into the configured list.
        public var endpoint: Int
        /// The MQTT version.
        public var version: Version
        /// The number that the connection gets if it is accepted, from 0.
        public var connection: Int
        /// `true` to ask the broker to retain the will; `false` where the broker has refused that.
        public var retainsWill: Bool

        /// Makes an attempt.
        public init(endpoint: Int, version: Version, connection: Int, retainsWill: Bool = true) {
            self.endpoint = endpoint
            self.version = version
            self.connection = connection
            self.retainsWill = retainsWill
        }
    }

    /// The failure of an attempt.
    public enum Failure: Hashable, Sendable {
        /// CONNECT could not be sent: the name or the route is unknown, no program listens, or TLS failed.
        case unreachable(TrackingError)
        /// CONNECT was sent, and the broker closed the connection without a CONNACK, as older brokers answer MQTT 5.
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
        /// The wait before another attempt. Can transition to: `connecting`, `ended`.
        case waiting(until: MonotonicTime)
        /// Accepted. Can transition to: `connecting`, `waiting`, `closing`, `leaving`, `ended`.
        case online(Attempt, since: MonotonicTime, unanswered: MonotonicTime?)
        /// The role closed the connection; answers are outstanding. Can transition to: `leaving`, `ended`.
        case closing(since: MonotonicTime, until: MonotonicTime)
        /// DISCONNECT is being written. Can transition to: `ended`.
        case leaving(since: MonotonicTime, until: MonotonicTime)
        /// The end. Final.
        case ended
    }

    let configuration: Configuration
    var state = State.idle
    var generator: SplitMix64
    /// The versions that endpoints have accepted.
    var known: [Int: Version] = [:]
    /// The endpoints that have no retained messages and refuse a will that is to be retained.
    var withoutRetain: Set<Int> = []
    var endpoint = 0
    var connections = 0
    /// The waits since a connection last lasted ``Configuration/settlesAfter``.
    var backoff: Backoff
    /// The number of endpoints tried since the last wait.
    var triedInRound = 0
    /// The number of connections in a row that the broker closed soon after they were made.
    var shortLives = 0

    /// Creates a machine that is not started.
    ///
    /// - Parameters:
    ///   - configuration: The settings; at least one endpoint.
    ///   - seed: The start of the jitter of the waits; different in every process.
    public init(configuration: Configuration, seed: UInt64) {
        precondition(configuration.endpoints > 0, "a connection needs at least one endpoint")
        self.configuration = configuration
        self.backoff = Backoff(first: configuration.firstWait, maximum: configuration.longestWait, jitter: 0.5)
        self.generator = SplitMix64(seed: seed)
    }

    /// The time at which ``timerFired(now:)`` is to be called; `nil` for never.
    public var nextDeadline: MonotonicTime? {
        switch self.state {
        case .idle, .ended: nil
        case .connecting(_, let until), .waiting(let until), .closing(_, let until), .leaving(_, let until): until
        case .online(_, _, let unanswered): unanswered.map { $0.advanced(by: self.configuration.answerTimeout) }
        }
    }

    /// `true` while commands can be sent.
    public var isOnline: Bool {
        switch self.state {
        case .online, .closing: true
        case .idle, .connecting, .waiting, .leaving, .ended: false
        }
    }

    /// `true` once the end was requested or has come: later commands are ignored.
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

    /// The broker accepted the connection.
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

    /// The current attempt failed; its connection is closed.
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

    /// The connection was lost.
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

    /// The driver reports the time at which the oldest unanswered PUBLISH or SUBSCRIBE was sent; `nil` when all are
    /// answered, or while the driver itself stops reading.
    public mutating func answersAwaited(since unanswered: MonotonicTime?) {
        if case .online(let attempt, let since, _) = self.state {
            self.state = .online(attempt, since: since, unanswered: unanswered)
        }
    }

    /// The role requested an orderly end, with `limit` for outstanding answers.
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

    /// The task of the connection was cancelled: the connection ends at once. Unless the role has requested the end,
    /// the broker receives no DISCONNECT and publishes the will, because the role has published no goodbye.
    public mutating func cancelled(now: MonotonicTime) -> [Action] {
        guard case .online(_, let since, _) = self.state else { return self.closeRequested(within: .zero, now: now) }
        return [.abandon] + self.end(nil, since: since, now: now)
    }

    /// The role requested an attempt now, which ends a current wait. Without a wait the request has no effect.
    public mutating func tryRequested(now: MonotonicTime) -> [Action] {
        guard case .waiting = self.state else { return [] }
        return [self.connect(now: now)]
    }

    /// Everything that was sent is answered.
    public mutating func drained(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .closing(let since, _): return self.leave(since: since, now: now)
        case .idle, .connecting, .waiting, .online, .leaving, .ended: return []
        }
    }

    /// The DISCONNECT was written and the connection closed.
    public mutating func goodbyeSent(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .leaving(let since, _): return self.end(nil, since: since, now: now)
        case .idle, .connecting, .waiting, .online, .closing, .ended: return []
        }
    }

    /// The time is ``nextDeadline`` or later, or an outdated timer fired.
    public mutating func timerFired(now: MonotonicTime) -> [Action] {
        guard let deadline = self.nextDeadline, now >= deadline else { return [] }
        switch self.state {
        case .waiting:
            return [self.connect(now: now)]
        case .connecting:
            let name = self.configuration.endpointName(self.endpoint)
            let error = TrackingError(
                .brokerUnreachable, "\(name) did not answer within \(self.configuration.connectTimeout)")
            return [.abandon] + self.failed(.unreachable(error), now: now)
        case .online(_, let since, _):
            let error = TrackingError(
                .connectionLost, "the broker left a message unanswered for \(self.configuration.answerTimeout)")
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
