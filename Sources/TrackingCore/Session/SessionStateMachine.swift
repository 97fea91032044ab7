/// Decides when a client publishes its own liveness, the retained message that shows if it is online
/// (docs/reference/protocol.md, "Members and leases").
///
/// After connecting, the client first receives the retained messages. Then it announces itself as online, and repeats
/// that regularly as a heartbeat. If an outdated message "offline" replaces its own, the client publishes "online"
/// again. It also detects another program with the same client id.
package struct SessionStateMachine: Sendable {
    /// The phase of the client's connection to the broker.
    package enum Phase: Hashable, Sendable {
        /// There is no connection to the broker. Can transition to: `reading`.
        case offline
        /// The client is connected and receives the retained messages. `broker` is the index of the broker's address.
        /// `standing` is the session (run of a program) named in the liveness message that the broker retains for this
        /// client's own id; `nil` if that message has not arrived. Can transition to: `online`, `takenOver`, `offline`.
        case reading(broker: Int, standing: SessionID?)
        /// The client has announced itself as online on this connection. Can transition to: `offline`.
        case online(nextHeartbeat: MonotonicTime)
        /// Another program uses the same client id; the value is the session id of that program. The phase never
        /// changes again.
        case takenOver(by: SessionID)
    }

    /// The client id with which the program connects to the broker.
    package let client: ClientID
    /// The session id, which identifies this run of the program.
    package let session: SessionID
    /// The time for which other clients consider this client online after a heartbeat.
    package let lease: Duration
    /// The number of the client's current connection to the broker, or of its last one while it has none. The
    /// connections of one run of the program are counted from 0.
    package private(set) var connection = 0
    /// The phase of the client's connection: without a connection, receiving the retained messages, announced as
    /// online, or taken over by another program.
    package private(set) var phase = Phase.offline
    /// `true` after the broker delivered to this client the message "online" that the client itself published on this
    /// connection.
    package private(set) var isLivenessConfirmed = false

    /// The maximum number of corrections between two heartbeats. A correction publishes "online" again after an
    /// outdated message "offline".
    package static let answersPerHeartbeat = 4

    private var answersLeft = Self.answersPerHeartbeat
    /// For each broker to which the client has connected, the session in the retained liveness of the first connection.
    private var noted: [Int: SessionID?] = [:]

    /// Makes the state machine of the liveness of a client that is not connected yet.
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

    /// `true` while the client has no connection to the broker. `false` while it has one, and after another program
    /// took over its client id.
    package var isOffline: Bool { if case .offline = self.phase { true } else { false } }

    /// `true` while the client has a connection, even before it has announced itself. `false` without a connection, and
    /// after another program took over the client id.
    package var isConnected: Bool {
        switch self.phase {
        case .reading, .online: true
        case .offline, .takenOver: false
        }
    }

    /// `true` while the client is connected and has announced itself as online on this connection.
    package var isAnnounced: Bool { if case .online = self.phase { true } else { false } }

    /// The time of the next heartbeat; `nil` while the client is not announced as online.
    package var nextDeadline: MonotonicTime? { if case .online(let next) = self.phase { next } else { nil } }

    /// The liveness message "online", which announces the client and is repeated as its heartbeat.
    package var birth: Liveness {
        Liveness(status: .online(lease: self.lease), session: self.session, connection: self.connection)
    }

    /// Returns the message by which the client announces that it is present on a trackable.
    ///
    /// - Parameters:
    ///   - kind: Publisher or subscriber.
    ///   - since: The time at which this run of the program first became present on the trackable.
    package func presence(_ kind: MemberKind, since: UnixTime) -> Presence {
        Presence(kind: kind, session: self.session, connection: self.connection, lease: self.lease, since: since)
    }

    /// Returns the liveness message "offline". It is the content of the client's MQTT will and of its orderly farewell.
    ///
    /// - Parameter remainsPresentFor: In a will, the time for which the client still counts as online.
    package static func goodbye(
        session: SessionID, connection: Int, remainsPresentFor: Duration? = nil
    ) -> Liveness {
        Liveness(
            status: .offline, session: session, connection: connection, remainsPresentFor: remainsPresentFor)
    }

    /// Handles that a broker accepted the connection with this number. The caller then subscribes to its topics, among
    /// them the topic of its own liveness. After another program took over the client id, the call has no effect.
    ///
    /// - Parameters:
    ///   - connection: The number of the connection in this run of the program, from 0.
    ///   - broker: The index of the broker's address in the client's list of addresses, from 0. Brokers that are not
    ///     joined have different retained messages.
    package mutating func connected(connection: Int, broker: Int) {
        if case .takenOver = self.phase { return }
        self.connection = connection
        self.isLivenessConfirmed = false
        self.phase = .reading(broker: broker, standing: nil)
    }

    /// Handles that the connection was lost: the client is offline. After another program took over the client id, the
    /// call has no effect.
    package mutating func disconnected() {
        if case .takenOver = self.phase { return }
        self.isLivenessConfirmed = false
        self.phase = .offline
    }

    /// Handles a message on the topic of this client's own liveness. `liveness` is `nil` when the retained message was
    /// cleared. `isRetained` is `true` for the broker's retained copy. While the client is online, a retained "offline"
    /// counts only if it names this session.
    ///
    /// - Returns: `true` if the client must publish "online" again at once, because this message replaced or cleared
    ///   its "online". Such a message is a late will, or the farewell of another program with the same client id. At
    ///   most ``answersPerHeartbeat`` corrections follow between two heartbeats, so that two programs cannot correct
    ///   each other without end.
    package mutating func receivedOwn(_ liveness: Liveness?, isRetained: Bool = false) -> Bool {
        switch self.phase {
        case .reading(let broker, _):
            self.phase = .reading(broker: broker, standing: liveness?.session)
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

    /// Handles that the broker answered all subscriptions of the connection. By then, all retained messages were
    /// received.
    ///
    /// - Returns: `true` when the client must announce itself: publish ``birth``, then its presences, then its
    ///   requests. `false` when another program uses the client id (``phase`` is then `takenOver`), or when ``phase``
    ///   is not `reading`. The client then publishes nothing. A program with the same client id is detected from the
    ///   second connection to the same broker on: the first one may find the message of an earlier run.
    package mutating func settled(now: MonotonicTime) -> Bool {
        guard case .reading(let broker, let standing) = self.phase else { return false }
        let noted = self.noted[broker]
        if noted == nil {
            self.noted[broker] = .some(standing)
        } else if let standing, standing != self.session, standing != noted {
            self.phase = .takenOver(by: standing)
            return false
        }
        self.beat(now)
        return true
    }

    /// Handles that the time ``nextDeadline`` has come. The call has no effect before that time.
    ///
    /// - Returns: `true` if the client must publish ``birth`` now as its heartbeat.
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
