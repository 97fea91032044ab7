import TrackingRecorder

/// The conditions under which a recorder is ready, as its events show them.
struct RecorderReadiness {
    private var isConnected = false
    private var isStoreAway = false
    private var lastDrop: ContinuousClock.Instant?
    /// `true` while the recorder's group does not work and the recorder receives nothing.
    private var isShareSilent = false

    /// The time for which the recorder reports "not ready" after the broker has dropped a message.
    static let dropMemory = Duration.seconds(600)

    /// Updates the conditions with an event of the recorder.
    mutating func happened(_ event: RecorderEvent, now: ContinuousClock.Instant) {
        switch event {
        case .connected: self.isConnected = true
        case .disconnected: self.isConnected = false
        case .storeAway: self.isStoreAway = true
        case .storeBack: self.isStoreAway = false
        case .brokerDropped: self.lastDrop = now
        case .shareDelivered: self.isShareSilent = false
        // A recorder that is alone in its group makes an ordinary subscription, and records everything.
        case .shareUndelivered(let isAlone): self.isShareSilent = !isAlone
        case .voice, .subscriptionRefused, .acknowledgementRefused, .cleared, .clearingRefused, .possibleGap,
            .storeRefuses, .failed:
            break
        }
    }

    /// The reason for which the recorder receives nothing from the broker; `nil` while it is connected.
    var brokerReason: String? {
        self.isConnected ? nil : "the recorder's connection that receives records is not connected to the broker"
    }

    /// The reason for which the recorder's group does not work; `nil` while it works, and for a recorder that receives
    /// everything itself.
    var shareReason: String? {
        self.isShareSilent
            ? "the broker delivers nothing of the shared subscription: this recorder receives nothing" : nil
    }

    /// The reason for which messages may be missing; `nil` if the broker has dropped none for ``dropMemory``.
    func queuesReason(now: ContinuousClock.Instant) -> String? {
        guard let last = self.lastDrop, last.duration(to: now) < Self.dropMemory else { return nil }
        return "the broker dropped messages: its queues are too short, or a client with a persistent session is away"
    }

    /// The reason for which the recorder does not store; `nil` while the history accepts records.
    var historyReason: String? {
        self.isStoreAway ? "the history rejects records. See the reason in the recorder's log" : nil
    }
}
