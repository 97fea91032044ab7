import TrackingCore

/// Tests whether the broker delivers the messages of a shared subscription. Some brokers grant `$share/…` and treat it
/// as an ordinary topic, on which nothing is ever published.
///
/// The recorder makes a shared subscription of its own to its own liveness, publishes a heartbeat, and waits for it.
/// Without the heartbeat, it listens for a while for acknowledgements of another recorder of its group.
struct ShareProbe: Sendable {
    /// The phases of the test whether the broker delivers the messages of a shared subscription.
    enum Phase: Hashable, Sendable {
        /// No test of shared subscriptions is under way. Can transition to: `subscribing`.
        case idle
        /// The recorder has sent the shared subscription of the test, and the broker has not answered it. Can
        /// transition to: `granted`, `idle`.
        case subscribing
        /// The broker has granted the shared subscription of the test. The recorder has not published the heartbeat yet
        /// that the subscription should deliver. Can transition to: `waiting`, `idle`.
        case granted
        /// The recorder has published the heartbeat, which must arrive by this time. Can transition to: `idle`,
        /// `listening`, `granted`.
        case waiting(until: MonotonicTime)
        /// The heartbeat of the test did not arrive over the shared subscription. Until this time, the recorder listens
        /// for acknowledgements of other recorders of its group. Can transition to: `idle`.
        case listening(until: MonotonicTime)
    }

    /// The recorder's next step in the test of shared subscriptions: nothing, a subscription, or the report of the
    /// result.
    enum Step: Hashable, Sendable {
        /// The recorder has nothing to do now for the test of shared subscriptions.
        case none
        /// The broker delivers messages of shared subscriptions. The recorder ends the subscription that tested this.
        case delivered
        /// The heartbeat that tests the shared subscription did not arrive. The recorder subscribes to the
        /// acknowledgements of its group.
        case listen
        /// The broker delivers no messages of shared subscriptions. `isAlone` is `true` if no other recorder of the
        /// group acknowledged records while the recorder listened.
        case undelivered(isAlone: Bool)
    }

    /// The time within which the heartbeat that tests the shared subscription must arrive after its publish.
    static let patience = Duration.seconds(5)
    /// The time for which the recorder listens for acknowledgements of other recorders of its group, after the test's
    /// heartbeat did not arrive.
    static let listeningTime = Duration.seconds(2)

    private(set) var phase = Phase.idle

    /// The time at which ``timerFired(now:)`` must be called: the end of the wait for the heartbeat, or of listening
    /// for other recorders. `nil` in the other phases of the test.
    var deadline: MonotonicTime? {
        switch self.phase {
        case .waiting(let until), .listening(let until): until
        case .idle, .subscribing, .granted: nil
        }
    }

    /// `true` while the recorder listens for other recorders of its group.
    var isListening: Bool { if case .listening = self.phase { true } else { false } }

    /// Begins the test: the intake connection was made, and the recorder sends the subscription of the test.
    mutating func begin() { self.phase = .subscribing }

    /// Ends the test without a result, because the intake connection was lost.
    mutating func disconnected() { self.phase = .idle }

    /// Handles the broker's answer to the subscription that tests shared subscriptions. A rejection ends the test
    /// without a report, because the recorder reports the rejection of its other shared subscriptions.
    mutating func answered(isGranted: Bool) {
        guard self.phase == .subscribing else { return }
        self.phase = isGranted ? .granted : .idle
    }

    /// Returns `true` if the recorder must now publish the heartbeat with which it tests the shared subscription. The
    /// test then waits for the arrival of the heartbeat.
    ///
    /// - Parameter isAnnounced: `true` while the recorder can publish.
    mutating func beats(isAnnounced: Bool, now: MonotonicTime) -> Bool {
        guard isAnnounced, self.phase == .granted else { return false }
        self.phase = .waiting(until: now.advanced(by: Self.patience))
        return true
    }

    /// Handles the loss of the connection that publishes the heartbeat. If the heartbeat has not arrived, the recorder
    /// publishes it again on the next connection.
    mutating func voiceLost() {
        if case .waiting = self.phase { self.phase = .granted }
    }

    /// Handles the arrival of the heartbeat through the shared subscription, which ends the test.
    mutating func arrived() -> Step {
        guard self.deadline != nil else { return .none }
        self.phase = .idle
        return .delivered
    }

    /// Handles an acknowledgement that another recorder of the group published. If the recorder listens for it, the
    /// test ends with the result that the broker delivers no messages of the shared subscription to this recorder.
    mutating func acknowledgedByAnother() -> Step {
        guard case .listening = self.phase else { return .none }
        self.phase = .idle
        return .undelivered(isAlone: false)
    }

    /// Handles that the time ``deadline`` of the test has come: if the heartbeat did not arrive, the recorder begins to
    /// listen for other recorders; if it was listening, the test ends without a delivery.
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
