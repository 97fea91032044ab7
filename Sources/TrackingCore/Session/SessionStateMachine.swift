/// Decides about a client's own liveness message on each connection: the first one (birth), heartbeats, the answer to a
/// stray offline message, and the detection of another program with the same client id (docs/reference/protocol.md,
/// "Members and leases").
///
/// The phases of a connection are: connected, own `_clients/{client}` received, subscriptions answered (settled),
/// announced, heartbeats.
package struct SessionStateMachine: Sendable {
    /// The phase of a connection.
    package enum Phase: Hashable, Sendable {
        /// There is no connection to the broker. Can transition to: `reading`.
        case offline
        /// Connected; the retained liveness of the own client id is being received. `standing` is the session in that
        /// retained message. Can transition to: `online`, `takenOver`, `offline`.
        case reading(standing: SessionID?)
        /// The client has announced itself on this connection. Can transition to: `offline`.
        case online(nextHeartbeat: MonotonicTime)
        /// Another program uses this client id. Final.
        case takenOver(by: SessionID)
    }

    /// The client id of the connection.
    package let client: ClientID
    /// The session id, which identifies this run of the program.
    package let session: SessionID
    /// The time for which other clients consider this client online after a heartbeat.
    package let lease: Duration
    /// The number of the connection in this session, from 0.
    package private(set) var connection = 0
    /// The phase of the connection.
    package private(set) var phase = Phase.offline
    /// `true` after the client's own liveness message was received on this connection.
    package private(set) var isLivenessConfirmed = false

    /// The maximum number of times between two heartbeats that the client answers a stray offline message at once.
    package static let answersPerHeartbeat = 4

    private var answersLeft = Self.answersPerHeartbeat
    private var isFirstConnection = true
    private var noted: SessionID?

    /// Starts a session that is not connected.
    ///
    /// - Parameters:
    ///   - client: The client id of the connection.
    ///   - session: The id of this run of the program.
    ///   - lease: The time for which other clients consider this client online after a heartbeat; limited to 1…86,400
    ///     s.
    package init(client: ClientID, session: SessionID, lease: Duration) {
        self.client = client
        self.session = session
        self.lease = max(.seconds(1), min(.seconds(86_400), lease))
    }

    /// `true` while there is no connection. A client id that was taken over is not offline.
    package var isOffline: Bool { if case .offline = self.phase { true } else { false } }

    /// `true` while there is a connection, announced or not.
    package var isConnected: Bool {
        switch self.phase {
        case .reading, .online: true
        case .offline, .takenOver: false
        }
    }

    /// `true` once the birth was published on this connection.
    package var isAnnounced: Bool { if case .online = self.phase { true } else { false } }

    /// The time of the next heartbeat; `nil` while the client is not announced.
    package var nextDeadline: MonotonicTime? { if case .online(let next) = self.phase { next } else { nil } }

    /// The liveness message that reports the program as online.
    package var birth: Liveness {
        Liveness(status: .online(lease: self.lease), session: self.session, connection: self.connection)
    }

    /// Returns the presence of the client on a trackable.
    ///
    /// - Parameter since: The time at which the client first became present in this session.
    package func presence(_ kind: MemberKind, since: UnixTime) -> Presence {
        Presence(kind: kind, session: self.session, connection: self.connection, lease: self.lease, since: since)
    }

    /// Returns the offline liveness message, which the will and an orderly farewell publish.
    package static func goodbye(session: SessionID, connection: Int) -> Liveness {
        Liveness(status: .offline, session: session, connection: connection)
    }

    /// Handles that the broker accepted the connection of this number. The caller then subscribes, to its own liveness
    /// first.
    package mutating func connected(connection: Int) {
        if case .takenOver = self.phase { return }
        self.connection = connection
        self.isLivenessConfirmed = false
        self.phase = .reading(standing: nil)
    }

    /// Handles the loss of the connection.
    package mutating func disconnected() {
        if case .takenOver = self.phase { return }
        self.isLivenessConfirmed = false
        self.phase = .offline
    }

    /// Handles a message on the topic of the client's own liveness. `isRetained` is `true` for the broker's retained
    /// copy.
    ///
    /// - Returns: `true` if the liveness must be published again at once, because an offline message has replaced it: a
    ///   late will, or the farewell of another program with this client id. The result is `true` at most
    ///   ``answersPerHeartbeat`` times between two heartbeats, so that two programs cannot answer each other without
    ///   end.
    package mutating func receivedOwn(_ liveness: Liveness?, isRetained: Bool = false) -> Bool {
        switch self.phase {
        case .reading:
            self.phase = .reading(standing: liveness?.session)
            return false
        case .online:
            if let liveness, case .online = liveness.status {
                let isOwn = liveness.session == self.session && liveness.connection == self.connection
                if isOwn { self.isLivenessConfirmed = true }
                return false
            }
            // A retained goodbye of another program is older than the birth that has replaced it.
            guard !isRetained || liveness?.session == self.session, self.answersLeft > 0 else { return false }
            self.answersLeft -= 1
            return true
        case .offline, .takenOver:
            return false
        }
    }

    /// Handles that the broker answered all subscriptions of the connection, so that the retained messages were
    /// received.
    ///
    /// - Returns: `true` to announce the client: publish ``birth``, then presences, then requests. `false` if another
    ///   program uses the client id; the connection must then be closed without a message.
    package mutating func settled(now: MonotonicTime) -> Bool {
        guard case .reading(let standing) = self.phase else { return false }
        if self.isFirstConnection {
            self.isFirstConnection = false
            self.noted = standing
        } else if let standing, standing != self.session, standing != self.noted {
            self.phase = .takenOver(by: standing)
            return false
        }
        self.beat(now)
        return true
    }

    /// Handles the expiry of ``nextDeadline``. The call has no effect before it.
    ///
    /// - Returns: `true` if ``birth`` is to be published as a heartbeat.
    package mutating func timerFired(now: MonotonicTime) -> Bool {
        guard case .online(let next) = self.phase, now >= next else { return false }
        self.beat(now)
        return true
    }

    private mutating func beat(_ now: MonotonicTime) {
        self.phase = .online(nextHeartbeat: now.advanced(by: self.lease / 2))
        self.answersLeft = Self.answersPerHeartbeat
    }
}
