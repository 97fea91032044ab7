/// The decisions about a client's own liveness on each connection: birth, heartbeats, the answer to a stray goodbye,
/// and the detection of another program with the same client id (docs/reference/protocol.md, "Who is there").
///
/// The phases of a connection: connected, own `_clients/{client}` received, settled, announced, heartbeats.
package struct SessionStateMachine: Sendable {
    /// The phase of a connection.
    package enum Phase: Hashable, Sendable {
        /// No connection. Can transition to: `reading`.
        case offline
        /// Connected; the retained liveness of the own client id is being received. Can transition to: `online`,
        /// `takenOver`, `offline`.
        case reading(standing: SessionID?)
        /// Announced. Can transition to: `offline`.
        case online(nextHeartbeat: MonotonicTime)
        /// Another program uses this client id. Final.
        case takenOver(by: SessionID)
    }

    /// The client id of the connection.
    package let client: ClientID
    /// The run of the program.
    package let session: SessionID
    /// The time for which others believe a heartbeat.
    package let lease: Duration
    /// The number of the connection in this session, from 0.
    package private(set) var connection = 0
    /// The phase of the connection.
    package private(set) var phase = Phase.offline
    /// `true` once the own liveness came back on this connection.
    package private(set) var isLivenessConfirmed = false

    /// The highest number of stray goodbyes that are answered at once between two heartbeats.
    package static let answersPerHeartbeat = 4

    private var answersLeft = Self.answersPerHeartbeat
    private var isFirstConnection = true
    private var noted: SessionID?

    /// Starts a session that is not connected.
    ///
    /// - Parameters:
    ///   - client: The own client id.
    ///   - session: The id of this run of the program.
    ///   - lease: The time for which others believe a heartbeat; limited to 1…86,400 s.
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

    /// The liveness of the program while it lives.
    package var birth: Liveness {
        Liveness(status: .online(lease: self.lease), session: self.session, connection: self.connection)
    }

    /// Returns the presence of the client on a trackable.
    ///
    /// - Parameter since: The time at which the client first became present in this session.
    package func presence(_ kind: MemberKind, since: UnixTime) -> Presence {
        Presence(kind: kind, session: self.session, connection: self.connection, lease: self.lease, since: since)
    }

    /// The liveness that the will and an orderly goodbye publish.
    package static func goodbye(session: SessionID, connection: Int) -> Liveness {
        Liveness(status: .offline, session: session, connection: connection)
    }

    /// The broker accepted a connection. The caller subscribes, its own liveness first.
    package mutating func connected(connection: Int) {
        if case .takenOver = self.phase { return }
        self.connection = connection
        self.isLivenessConfirmed = false
        self.phase = .reading(standing: nil)
    }

    /// The connection is gone.
    package mutating func disconnected() {
        if case .takenOver = self.phase { return }
        self.isLivenessConfirmed = false
        self.phase = .offline
    }

    /// A message arrived on the own liveness topic; `isRetained` is `true` for the broker's retained copy.
    ///
    /// - Returns: `true` if the own liveness must be published again at once, because a goodbye has replaced it: a late will, or
    ///   the goodbye of another program with this client id. That is so ``answersPerHeartbeat`` times between two heartbeats at
    ///   most, so that two programs cannot answer each other without end.
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

    /// The broker answered all subscriptions of the connection, so the retained messages were received.
    ///
    /// - Returns: `true` to announce: publish ``birth``, then presences, then requests. `false` if the client id was
    ///   taken over; the connection is then closed without a message.
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

    /// The next deadline has come, or the caller checks for one.
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
