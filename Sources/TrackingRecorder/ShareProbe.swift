import TrackingCore

/// Tests whether the broker delivers the messages of a shared subscription. Some brokers grant `$share/…` and treat it
/// as an ordinary topic, on which nothing is ever published.
///
/// The recorder makes a shared subscription of its own to its own liveness, publishes a heartbeat, and waits for it.
/// Without the heartbeat, it listens for a while for acknowledgements of another recorder of its group.
struct ShareProbe: Sendable {
    /// The state of the test.
    enum Phase: Hashable, Sendable {
        /// No test is under way. Can transition to: `subscribing`.
        case idle
        /// The broker has not answered the subscription. Can transition to: `granted`, `idle`.
        case subscribing
        /// The broker has granted the subscription, and the heartbeat is not published yet. Can transition to:
        /// `waiting`.
        case granted
        /// The heartbeat was published, and must arrive by this time. Can transition to: `idle`, `listening`.
        case waiting(until: MonotonicTime)
        /// The heartbeat did not arrive. The recorder listens until this time for other recorders of its group. Can
        /// transition to: `idle`.
        case listening(until: MonotonicTime)
    }

    /// The result of a step of the test.
    enum Step: Hashable, Sendable {
        /// Nothing is to be done.
        case none
        /// The broker delivers: end the subscription of the test.
        case delivered
        /// The heartbeat did not arrive: subscribe to the acknowledgements of the group.
        case listen
        /// The broker delivers nothing. `isAlone` is `true` if no other recorder of the group acknowledged meanwhile.
        case undelivered(isAlone: Bool)
    }

    /// The time in which the heartbeat must arrive.
    static let patience = Duration.seconds(5)
    /// The time for which acknowledgements of other recorders are listened for.
    static let listeningTime = Duration.seconds(2)

    private(set) var phase = Phase.idle

    /// The time at which ``timerFired(now:)`` must be called; `nil` while no time is awaited.
    var deadline: MonotonicTime? {
        switch self.phase {
        case .waiting(let until), .listening(let until): until
        case .idle, .subscribing, .granted: nil
        }
    }

    /// `true` while the recorder listens for other recorders of its group.
    var isListening: Bool { if case .listening = self.phase { true } else { false } }

    /// The intake connection was made, and the subscription of the test is sent.
    mutating func begin() { self.phase = .subscribing }

    /// The intake connection was lost.
    mutating func disconnected() { self.phase = .idle }

    /// The broker answered the subscription of the test. A rejection is reported for the recorder's own subscriptions.
    mutating func answered(isGranted: Bool) {
        guard self.phase == .subscribing else { return }
        self.phase = isGranted ? .granted : .idle
    }

    /// Returns `true` if the recorder must publish its heartbeat now. It is published at most once for each test.
    ///
    /// - Parameter isAnnounced: `true` while the recorder can publish.
    mutating func beats(isAnnounced: Bool, now: MonotonicTime) -> Bool {
        guard isAnnounced, self.phase == .granted else { return false }
        self.phase = .waiting(until: now.advanced(by: Self.patience))
        return true
    }

    /// The connection that publishes the heartbeat was lost: the heartbeat is published again on the next one.
    mutating func voiceLost() {
        if case .waiting = self.phase { self.phase = .granted }
    }

    /// The heartbeat arrived through the shared subscription.
    mutating func arrived() -> Step {
        guard self.deadline != nil else { return .none }
        self.phase = .idle
        return .delivered
    }

    /// Another recorder of the group acknowledged records.
    mutating func acknowledgedByAnother() -> Step {
        guard case .listening = self.phase else { return .none }
        self.phase = .idle
        return .undelivered(isAlone: false)
    }

    /// The time ``deadline`` has come.
    mutating func timerFired(now: MonotonicTime) -> Step {
        switch self.phase {
        case .waiting(let until) where until <= now:
            self.phase = .listening(until: now.advanced(by: Self.listeningTime))
            return .listen
        case .listening(let until) where until <= now:
            self.phase = .idle
            return .undelivered(isAlone: true)
        case .idle, .subscribing, .granted, .waiting, .listening: return .none
        }
    }
}
