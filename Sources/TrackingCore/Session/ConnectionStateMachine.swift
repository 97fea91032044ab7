/// Decides when one client connects, to which endpoint and in which version, when it waits, when a connection counts as
/// dead, and how it ends. Touches no socket, no clock, no log.
///
/// Each method is named for what happened and returns what is to be done, in order. The driver calls ``timerFired(now:)``
/// at ``nextDeadline``; an old timer is ignored.
public struct ConnectionStateMachine: Sendable {
    /// What is to be done. Plain data: one case is one call of the driver.
    public enum Action: Hashable, Sendable {
        /// Open a new connection and send CONNECT. Answered by ``ConnectionStateMachine/accepted(sessionPresent:now:)`` or
        /// ``ConnectionStateMachine/attemptFailed(_:now:)``.
        case connect(Attempt)
        /// Close the connection, or the attempt under way, without a word.
        case abandon
        /// Send DISCONNECT, so that no will is sent. Answered by ``ConnectionStateMachine/goodbyeSent(now:)``.
        case sendGoodbye
        /// Tell the role: `.connected` or `.disconnected`, nothing else.
        case tell(TransportEvent)
        /// Nothing comes any more.
        case finish
    }

    /// One try.
    public struct Attempt: Hashable, Sendable {
        /// Which endpoint, as an index into the configured list.
        public var endpoint: Int
        /// In which version.
        public var version: Version
        /// The number that the connection gets if it is accepted, from 0.
        public var connection: Int
        /// Whether the broker is asked to keep the will for those who come later; not where it has refused that.
        public var retainsWill: Bool

        /// Makes an attempt.
        public init(endpoint: Int, version: Version, connection: Int, retainsWill: Bool = true) {
            self.endpoint = endpoint
            self.version = version
            self.connection = connection
            self.retainsWill = retainsWill
        }
    }

    /// Why an attempt came to nothing.
    public enum Failure: Hashable, Sendable {
        /// CONNECT could not be sent: no name, no route, nobody listening, TLS refused.
        case unreachable(TrackingError)
        /// CONNECT was sent, and the peer closed without a CONNACK: older brokers answer MQTT 5 like this.
        case closedUnanswered(TrackingError)
        /// A CONNACK with a reason, in the error's `reasonCode`.
        case refused(TrackingError)

        /// The error inside.
        public var error: TrackingError {
            switch self {
            case .unreachable(let error), .closedUnanswered(let error), .refused(let error): error
            }
        }
    }

    enum State: Hashable, Sendable {
        /// Before ``started(now:)``. Can transition to: `connecting`, `ended`.
        case idle
        /// CONNECT is on its way. Can transition to: `connecting`, `online`, `waiting`, `ended`.
        case connecting(Attempt, until: MonotonicTime)
        /// Before another try. Can transition to: `connecting`, `ended`.
        case waiting(until: MonotonicTime)
        /// Accepted. Can transition to: `connecting`, `waiting`, `closing`, `leaving`, `ended`.
        case online(Attempt, since: MonotonicTime, unanswered: MonotonicTime?)
        /// Asked to close; waits for what is outstanding. Can transition to: `leaving`, `ended`.
        case closing(since: MonotonicTime, until: MonotonicTime)
        /// DISCONNECT is on its way. Can transition to: `ended`.
        case leaving(since: MonotonicTime, until: MonotonicTime)
        /// Nothing comes any more.
        case ended
    }

    let configuration: Configuration
    var state = State.idle
    var generator: SplitMix64
    /// The versions that endpoints are known to accept.
    var known: [Int: Version] = [:]
    /// The endpoints that keep no messages, and so refuse who has a will that is to be kept.
    var withoutRetain: Set<Int> = []
    var endpoint = 0
    var connections = 0
    /// Waits since a connection last stood a while.
    var round = 0
    /// Endpoints tried since the last wait.
    var triedInRound = 0
    /// Connections in a row that the peer closed soon after they were made.
    var shortLives = 0

    /// Starts a machine that waits to be started.
    ///
    /// - Parameter seed: Where the jitter of the waits begins; different in every process.
    public init(configuration: Configuration, seed: UInt64) {
        precondition(configuration.endpoints > 0, "a connection needs at least one endpoint")
        self.configuration = configuration
        self.generator = SplitMix64(seed: seed)
    }

    /// When ``timerFired(now:)`` is to be called; `nil` when nothing is waited for.
    public var nextDeadline: MonotonicTime? {
        switch self.state {
        case .idle, .ended: nil
        case .connecting(_, let until), .waiting(let until), .closing(_, let until), .leaving(_, let until): until
        case .online(_, _, let unanswered): unanswered.map { $0.advanced(by: self.configuration.answerTimeout) }
        }
    }

    /// Whether commands can be sent now.
    public var isOnline: Bool {
        switch self.state {
        case .online, .closing: true
        case .idle, .connecting, .waiting, .leaving, .ended: false
        }
    }

    /// Whether the end was asked for or has come: commands that come now are ignored.
    public var isClosing: Bool {
        switch self.state {
        case .closing, .leaving, .ended: true
        case .idle, .connecting, .waiting, .online: false
        }
    }

    /// Begins. Call it once, before anything else.
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
            return [.tell(.connected(connection: attempt.connection, sessionPresent: sessionPresent))]
        case .idle, .waiting, .online, .closing, .leaving, .ended:
            return []  // an answer to an attempt that was given up
        }
    }

    /// The attempt under way came to nothing; its connection is gone.
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

    /// A connection that stood is gone.
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

    /// The oldest PUBLISH or SUBSCRIBE that is not answered was sent at `since`; `nil` when all are answered, or while the
    /// driver itself holds back reading.
    public mutating func answersAwaited(since unanswered: MonotonicTime?) {
        if case .online(let attempt, let since, _) = self.state {
            self.state = .online(attempt, since: since, unanswered: unanswered)
        }
    }

    /// The role asked for an orderly end, with `limit` for what is outstanding.
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

    /// The task that runs the connection is cancelled: it ends at once. Where nobody asked to close it, the role has said no
    /// goodbye, so the broker is given none either: its will tells the others.
    public mutating func cancelled(now: MonotonicTime) -> [Action] {
        guard case .online(_, let since, _) = self.state else { return self.closeRequested(within: .zero, now: now) }
        return [.abandon] + self.end(nil, since: since, now: now)
    }

    /// The role wants the next try now: a wait that is under way ends. Nothing happens otherwise.
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

    /// The time is ``nextDeadline``, or later, or an old timer fired.
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
