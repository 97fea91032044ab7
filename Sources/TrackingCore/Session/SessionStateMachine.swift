/// Decides what one client program says of itself on each connection, and when: birth, heartbeats, the answer to a stray
/// goodbye, and whether somebody else uses its client id (docs/protocol.md, "Who is there").
///
/// A connection goes: connected → its own `_clients/{client}` is read → settled → announced → heartbeats.
public struct SessionStateMachine: Sendable {
    /// Where a connection stands.
    public enum Phase: Hashable, Sendable {
        /// No connection. Can transition to: `reading`.
        case offline
        /// Connected; what stands at the own liveness topic is being read. Can transition to: `online`, `takenOver`,
        /// `offline`.
        case reading(standing: SessionID?)
        /// Announced. Can transition to: `offline`.
        case online(nextHeartbeat: MonotonicTime)
        /// Another program uses this client id. Final.
        case takenOver(by: SessionID)
    }

    /// The name of the connection.
    public let client: ClientID
    /// This run of the program.
    public let session: SessionID
    /// How long others believe a heartbeat.
    public let lease: Duration
    /// Counts the reconnects of this session, from 0.
    public private(set) var connection = 0
    /// Where the connection stands.
    public private(set) var phase = Phase.offline
    /// Whether the own liveness came back on this connection.
    public private(set) var isLivenessConfirmed = false

    /// How often somebody may overwrite the own liveness until the next heartbeat, and be answered at once.
    public static let answersPerHeartbeat = 4

    private var answersLeft = Self.answersPerHeartbeat
    private var isFirstConnection = true
    private var noted: SessionID?

    /// Starts a session that is not connected.
    ///
    /// - Parameter lease: Beyond 1…86,400 s the nearest of these counts.
    public init(client: ClientID, session: SessionID, lease: Duration) {
        self.client = client
        self.session = session
        self.lease = max(.seconds(1), min(.seconds(86_400), lease))
    }

    /// Whether there is a connection, announced or not.
    public var isConnected: Bool {
        switch self.phase {
        case .reading, .online: true
        case .offline, .takenOver: false
        }
    }

    /// Whether the birth was published on this connection.
    public var isAnnounced: Bool { if case .online = self.phase { true } else { false } }

    /// When the next heartbeat is due; `nil` while there is nothing to say.
    public var nextDeadline: MonotonicTime? { if case .online(let next) = self.phase { next } else { nil } }

    /// What the liveness topic is to hold while the program lives.
    public var birth: Liveness {
        Liveness(status: .online(lease: self.lease), session: self.session, connection: self.connection)
    }

    /// What the will, or an orderly goodbye, says.
    public static func goodbye(session: SessionID, connection: Int) -> Liveness {
        Liveness(status: .offline, session: session, connection: connection)
    }

    /// The broker accepted a connection. The caller subscribes, its own liveness first.
    public mutating func connected(connection: Int) {
        if case .takenOver = self.phase { return }
        self.connection = connection
        self.isLivenessConfirmed = false
        self.phase = .reading(standing: nil)
    }

    /// The connection is gone.
    public mutating func disconnected() {
        if case .takenOver = self.phase { return }
        self.isLivenessConfirmed = false
        self.phase = .offline
    }

    /// Something arrived on the own liveness topic; `isRetained` when it is the broker's kept copy.
    ///
    /// - Returns: Whether the own liveness must be published again at once: something that says offline stands in its
    ///   place, such as a late will or the goodbye of another program under this client id. Answered
    ///   ``answersPerHeartbeat`` times between two heartbeats, so that nobody can keep two programs answering each other.
    public mutating func heardOwn(_ liveness: Liveness?, isRetained: Bool = false) -> Bool {
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
            // A kept copy of somebody else's goodbye stood there before the birth that has replaced it.
            guard !isRetained || liveness?.session == self.session, self.answersLeft > 0 else { return false }
            self.answersLeft -= 1
            return true
        case .offline, .takenOver:
            return false
        }
    }

    /// Everything this connection subscribed to is answered, so what stood was read.
    ///
    /// - Returns: Whether to announce: publish ``birth``, then presences, then requests. When `false` the id was taken over
    ///   and the connection is to be closed without a word.
    public mutating func settled(now: MonotonicTime) -> Bool {
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

    /// The next deadline has come, or another reason to look.
    ///
    /// - Returns: Whether ``birth`` is to be published as a heartbeat.
    public mutating func timerFired(now: MonotonicTime) -> Bool {
        guard case .online(let next) = self.phase, now >= next else { return false }
        self.beat(now)
        return true
    }

    private mutating func beat(_ now: MonotonicTime) {
        self.phase = .online(nextHeartbeat: now.advanced(by: self.lease / 2))
        self.answersLeft = Self.answersPerHeartbeat
    }
}
