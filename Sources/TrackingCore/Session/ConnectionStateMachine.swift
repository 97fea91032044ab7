/// Controls one client's connection to the broker, without using a socket, a clock or a log. It decides when to
/// connect, to which address, with which MQTT version, when the connection counts as dead, and when it ends.
///
/// The caller reports each event by a method. The method returns the actions that the caller must perform, in order.
/// The caller also calls ``timerFired(now:)`` at ``nextDeadline``; a call before that time has no effect.
public struct ConnectionStateMachine: Sendable {
    /// An action that the caller of the state machine must perform: on the network connection to the broker, or towards
    /// the publisher, subscriber or recorder that uses it.
    public enum Action: Hashable, Sendable {
        /// Ask the provider for the client's credentials. The caller then reports the answer with
        /// ``ConnectionStateMachine/credentialsReceived(areNew:expiry:now:)`` or
        /// ``ConnectionStateMachine/credentialsUnavailable(_:now:)``. An earlier question that is not answered yet is
        /// abandoned.
        case askForCredentials
        /// Open a new connection and send CONNECT, with the credentials that the provider returned last. The caller
        /// then reports the result with ``ConnectionStateMachine/accepted(sessionPresent:now:)`` or
        /// ``ConnectionStateMachine/attemptFailed(_:now:)``.
        case connect(Attempt)
        /// Close the connection, or abort the attempt to connect, without sending DISCONNECT. A question for
        /// credentials is abandoned too.
        case abandon
        /// Send DISCONNECT and close the connection, so that the broker does not publish the client's will. The caller
        /// then calls ``ConnectionStateMachine/goodbyeSent(now:)``.
        case sendGoodbye
        /// Deliver this event, `.connected` or `.disconnected`, to the publisher, subscriber or recorder that uses the
        /// connection.
        case deliver(TransportEvent)
        /// End the stream of events that the user of the connection reads. No further event follows.
        case finish
    }

    /// One attempt to connect to the broker: the address, the MQTT version, the number of the connection, and whether
    /// the client's will is retained.
    public struct Attempt: Hashable, Sendable {
        /// The broker address to connect to, as an index into the configured list.
        public var endpoint: Int
        /// The MQTT version with which the client connects.
        public var version: Version
        /// The number that the connection gets if the broker accepts it. The accepted connections of one run of the
        /// program are counted from 0.
        public var connection: Int
        /// `true` to ask the broker to retain the client's will; `false` if the broker at this address has refused a
        /// retained will.
        public var retainsWill: Bool

        /// Makes one attempt from the index of the broker's address, the MQTT version, the number that the connection
        /// gets, and `retainsWill`, which is `false` for a will that the broker does not retain.
        public init(endpoint: Int, version: Version, connection: Int, retainsWill: Bool = true) {
            self.endpoint = endpoint
            self.version = version
            self.connection = connection
            self.retainsWill = retainsWill
        }
    }

    /// The kind of failure of an attempt to connect to the broker: unreachable, closed without an answer, or refused.
    public enum Failure: Hashable, Sendable {
        /// No usable connection was made: the broker's name or network is unknown, no program listens at the address,
        /// TLS failed, the broker's answer was no valid packet, or the broker did not answer within
        /// ``Configuration/connectTimeout``.
        case unreachable(TrackingError)
        /// CONNECT was sent, and the broker closed the connection without a CONNACK. Older brokers answer MQTT 5 in
        /// this way.
        case closedUnanswered(TrackingError)
        /// The broker refused the connection in its CONNACK packet. The error's `reasonCode` is the broker's reason.
        case refused(TrackingError)

        /// The error with which the attempt to connect failed.
        public var error: TrackingError {
            switch self {
            case .unreachable(let error), .closedUnanswered(let error), .refused(let error): error
            }
        }
    }

    enum State: Hashable, Sendable {
        /// The connection was not started yet. Can transition to: `asking`, `connecting`, `ended`.
        case idle
        /// The client waits for the credentials of an attempt to connect. If the broker refused the attempt before,
        /// `refusal` contains the reason. Can transition to: `asking`, `connecting`, `waiting`, `ended`.
        case asking(Attempt, refusal: TrackingError?, until: MonotonicTime)
        /// An attempt to connect is running, and the broker has neither accepted nor refused the connection. Can
        /// transition to: `asking`, `connecting`, `online`, `waiting`, `ended`.
        case connecting(Attempt, until: MonotonicTime)
        /// The client waits before another attempt to connect. Can transition to: `asking`, `connecting`, `ended`.
        case waiting(until: MonotonicTime)
        /// The broker accepted the connection, which is in use. Can transition to: `waiting`, `renewing`, `closing`,
        /// `leaving`, `ended`.
        case online(Attempt, since: MonotonicTime, unanswered: MonotonicTime?)
        /// The client has new credentials, and ends its connection to connect again with them. It sends no further
        /// requests, and waits for the broker's answers to earlier ones. Then it sends DISCONNECT (`isLeaving`). Can
        /// transition to: `connecting`, `waiting`, `closing`, `leaving`, `ended`.
        case renewing(since: MonotonicTime, until: MonotonicTime, isLeaving: Bool)
        /// The user of the connection asked to close it. The client still waits for the broker's answers to earlier
        /// requests. Can transition to: `leaving`, `ended`.
        case closing(since: MonotonicTime, until: MonotonicTime)
        /// The client is sending DISCONNECT. Can transition to: `ended`.
        case leaving(since: MonotonicTime, until: MonotonicTime)
        /// The client has ended its connection and makes no further attempt to connect. Final.
        case ended
    }

    let configuration: Configuration
    var state = State.idle
    var generator: SplitMix64
    /// The MQTT version that the broker at each address accepted last, by the index of the address.
    var known: [Int: Version] = [:]
    /// The indices of the addresses whose brokers refused a retained will, because they support no retained messages.
    var withoutRetain: Set<Int> = []
    var endpoint = 0
    var connections = 0
    /// `true` if the provider has returned the credentials for the next attempt to connect already.
    var hasCredentials = false
    /// `true` once the client has asked for other credentials at once, because the broker refused those of an attempt.
    /// The client does so once until the broker accepts a connection.
    var hasAskedAgain = false
    var renewal: CredentialRenewal
    /// The growing waits between attempts to connect. They begin with the shortest one again after a connection that
    /// lasted ``Configuration/settlesAfter``.
    var backoff: Backoff
    /// The number of broker addresses that the client tried without success since the last wait or the last accepted
    /// connection. After all addresses, the client waits before it begins again with them.
    var triedInRound = 0
    /// The number of connections in a row that were lost within ``Configuration/settlesAfter`` and may be the work of a
    /// second program with the same client id.
    var shortLives = 0

    /// Creates the state machine of a client's connection to the broker, before its first attempt to connect.
    ///
    /// - Parameters:
    ///   - configuration: The settings, with at least one broker address.
    ///   - seed: The seed for the random part of the waits; it should differ in every process.
    public init(configuration: Configuration, seed: UInt64) {
        precondition(configuration.endpoints > 0, "a connection needs at least one endpoint")
        self.configuration = configuration
        self.backoff = Backoff(first: configuration.firstWait, maximum: configuration.longestWait, jitter: 0.5)
        self.generator = SplitMix64(seed: seed)
        self.renewal = CredentialRenewal(answerTimeout: configuration.credentialsTimeout)
    }

    /// The time at which the caller must call ``timerFired(now:)``: the end of a wait, the time to ask for new
    /// credentials, or the end of the time limit of an attempt, of an answer or of a close. `nil` when none of these is
    /// running.
    public var nextDeadline: MonotonicTime? {
        switch self.state {
        case .idle, .ended: nil
        case .asking(_, _, let until), .connecting(_, let until), .waiting(let until), .closing(_, let until),
            .leaving(_, let until), .renewing(_, let until, _):
            until
        case .online(_, _, let unanswered): .earlier(self.answerDeadline(unanswered), self.renewal.nextDeadline)
        }
    }

    /// `true` while there is a connection that the broker has accepted and on which the client is not yet sending
    /// DISCONNECT. Messages can then be sent.
    public var isOnline: Bool {
        switch self.state {
        case .online, .closing: true
        case .renewing(_, _, let isLeaving): !isLeaving
        case .idle, .asking, .connecting, .waiting, .leaving, .ended: false
        }
    }

    /// `true` while the client ends its connection to connect again with new credentials. It then sends no further
    /// requests of its user.
    public var isRenewing: Bool { if case .renewing = self.state { true } else { false } }

    /// `true` after the user of the connection asked to close it, or after the connection ended for good. Commands that
    /// follow, other than a further request to close, are ignored.
    public var isClosing: Bool {
        switch self.state {
        case .closing, .leaving, .ended: true
        case .idle, .asking, .connecting, .waiting, .online, .renewing: false
        }
    }

    /// Begins the first attempt to connect. The caller calls this function once, before all others. The call has no
    /// effect if the connection was closed before.
    public mutating func started(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .idle: return [self.begin(now: now)]
        case .ended: return []  // closed before it began
        case .asking, .connecting, .waiting, .online, .renewing, .closing, .leaving:
            preconditionFailure("started() is called once, before anything else; state is \(self.state)")
        }
    }

    /// Handles that the broker accepted the connection. The call has no effect when the attempt to connect is over
    /// already, for example because its time limit has passed or the program asked to close the connection.
    ///
    /// - Parameters:
    ///   - sessionPresent: `true` when the broker kept the client's session and its subscriptions.
    ///   - now: The time on the monotonic clock.
    /// - Returns: The actions that the caller must perform, in order.
    public mutating func accepted(sessionPresent: Bool, now: MonotonicTime) -> [Action] {
        switch self.state {
        case .connecting(let attempt, _):
            self.known[attempt.endpoint] = attempt.version
            self.connections += 1
            self.triedInRound = 0
            self.hasAskedAgain = false
            self.renewal.connected()
            self.state = .online(attempt, since: now, unanswered: nil)
            let (connection, broker) = (attempt.connection, attempt.endpoint)
            return [.deliver(.connected(connection: connection, sessionPresent: sessionPresent, broker: broker))]
        case .idle, .asking, .waiting, .online, .renewing, .closing, .leaving, .ended:
            return []  // an answer to an attempt that was given up
        }
    }

    /// Handles that the current attempt to connect failed. Its connection is closed already.
    ///
    /// - Returns: The actions that the caller must perform, in order.
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
            if let refusal = self.refusalToAskAgain(failure) {
                return [self.ask(for: attempt, after: refusal, now: now)]
            }
            return self.failed(failure, now: now)
        case .idle, .asking, .waiting, .online, .renewing, .closing, .leaving, .ended:
            return []
        }
    }

    /// Handles that the connection was lost for the given reason. The client connects again after a wait, unless the
    /// user of the connection had asked to close it.
    ///
    /// - Parameters:
    ///   - reason: The reason of the loss.
    ///   - isSilent: `true` if the broker did not answer a ping. The client then connects to the next address.
    ///   - now: The time on the monotonic clock.
    /// - Returns: The actions that the caller must perform, in order.
    public mutating func connectionLost(
        _ reason: TrackingError, isSilent: Bool = false, now: MonotonicTime
    ) -> [Action] {
        switch self.state {
        case .online(_, let since, _), .renewing(let since, _, _):
            return self.lost(reason, isSilent: isSilent, since: since, now: now)
        case .closing(let since, _), .leaving(let since, _):
            return self.end(reason, since: since, now: now)
        case .idle, .asking, .connecting, .waiting, .ended:
            return []
        }
    }

    /// Sets the time at which the oldest unanswered PUBLISH or SUBSCRIBE was sent. If the broker does not answer it
    /// within ``Configuration/answerTimeout``, the connection counts as lost.
    ///
    /// The time is `nil` when all are answered. It is also `nil` while the client itself does not read from the
    /// connection.
    public mutating func answersAwaited(since unanswered: MonotonicTime?) {
        if case .online(let attempt, let since, _) = self.state {
            self.state = .online(attempt, since: since, unanswered: unanswered)
        }
    }

    /// Handles that the user of the connection asks to close it in order. If the broker has accepted the connection,
    /// the client sends a DISCONNECT before it closes. A second request can only shorten the time limit of the first.
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait for the broker's outstanding answers before the DISCONNECT.
    ///   - now: The time on the monotonic clock.
    /// - Returns: The actions that the caller must perform, in order.
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
        case .renewing(let since, let until, let isLeaving):
            if isLeaving {
                self.state = .leaving(since: since, until: until)
                return []
            }
            guard limit > .zero else { return self.leave(since: since, now: now) }
            self.state = .closing(since: since, until: now.advanced(by: limit))
            return []
        case .asking, .connecting:
            return [.abandon] + self.end(nil, since: nil, now: now)
        case .idle, .waiting:
            return self.end(nil, since: nil, now: now)
        case .leaving, .ended:
            return []
        }
    }

    /// Ends the connection at once, because its task was cancelled. The broker receives no DISCONNECT and therefore
    /// publishes the client's will. If the program had already asked to close the connection, a DISCONNECT is sent.
    public mutating func cancelled(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .online(_, let since, _), .renewing(let since, _, false):
            return [.abandon] + self.end(nil, since: since, now: now)
        case .idle, .asking, .connecting, .waiting, .renewing, .closing, .leaving, .ended:
            return self.closeRequested(within: .zero, now: now)
        }
    }

    /// Handles that the user of the connection asks to connect now. A wait between two attempts ends at once. At other
    /// times, the request has no effect.
    public mutating func tryRequested(now: MonotonicTime) -> [Action] {
        guard case .waiting = self.state else { return [] }
        return [self.begin(now: now)]
    }

    /// Handles that the broker has answered every PUBLISH and SUBSCRIBE that the client sent. If the user of the
    /// connection asked to close it, or if the client ends it because of new credentials, the client now sends
    /// DISCONNECT. Otherwise the call has no effect.
    public mutating func drained(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .closing(let since, _): return self.leave(since: since, now: now)
        case .renewing(let since, _, false): return self.leaveToRenew(since: since, now: now)
        case .idle, .asking, .connecting, .waiting, .online, .renewing, .leaving, .ended: return []
        }
    }

    /// Handles that the DISCONNECT was sent and the broker closed the connection. The client then ends for good, or
    /// connects again at once if it has new credentials.
    public mutating func goodbyeSent(now: MonotonicTime) -> [Action] {
        switch self.state {
        case .leaving(let since, _): return self.end(nil, since: since, now: now)
        case .renewing(let since, _, true): return self.renewed(since: since, now: now)
        case .idle, .asking, .connecting, .waiting, .online, .renewing, .closing, .ended: return []
        }
    }

    /// Handles that the time ``nextDeadline`` has come: an attempt took too long, a wait is over, the broker or the
    /// provider of credentials does not answer, the credentials expire soon, or the time for an orderly close is over.
    /// A call before that time has no effect.
    public mutating func timerFired(now: MonotonicTime) -> [Action] {
        guard let deadline = self.nextDeadline, now >= deadline else { return [] }
        switch self.state {
        case .waiting:
            return [self.begin(now: now)]
        case .asking(_, let refusal, _):
            return [.abandon] + self.failed(self.unansweredQuestion(after: refusal), now: now)
        case .connecting:
            let name = self.configuration.endpointName(self.endpoint)
            let error = TrackingError(
                .brokerUnreachable,
                "cannot connect to the broker: \(name) did not answer within \(self.configuration.connectTimeout). Check host, port and network"
            )
            return [.abandon] + self.failed(.unreachable(error), now: now)
        case .online(_, let since, let unanswered):
            guard let limit = self.answerDeadline(unanswered), now >= limit else {
                return self.renewal.timerFired(now: now) ? [.askForCredentials] : []
            }
            let error = TrackingError(
                .connectionLost,
                """
                connection to the broker ended: the broker left a message unanswered for \
                \(self.configuration.answerTimeout). The client connects again
                """)
            return [.abandon] + self.lost(error, isSilent: true, since: since, now: now)
        case .renewing(let since, _, let isLeaving):
            return isLeaving
                ? [.abandon] + self.renewed(since: since, now: now) : self.leaveToRenew(since: since, now: now)
        case .closing(let since, _):
            return self.leave(since: since, now: now)
        case .leaving(let since, _):
            return [.abandon] + self.end(nil, since: since, now: now)
        case .idle, .ended:
            return []
        }
    }
}
