import TrackingCore
import TrackingRecorder

/// The conditions that decide if a recorder is ready, as the events of the recorder show them: the connection to the
/// broker, the history, messages that the broker dropped, and the recorder's group.
struct RecorderReadiness {
    private var isConnected = false
    private var isStoreAway = false
    private var lastDrop: ContinuousClock.Instant?
    /// `true` while the broker delivers nothing of the shared subscription of the recorder's group, so that the
    /// recorder receives nothing.
    private var isShareSilent = false
    /// `true` while another recorder of the same name is active, and this one only waits (`--standby`). A recorder that
    /// waits stores nothing, so an earlier failure to store no longer counts.
    var isWaiting = false {
        didSet { if self.isWaiting { self.isStoreAway = false } }
    }

    /// The time for which the recorder reports "not ready" after the broker has dropped a message.
    static let dropMemory = Duration.seconds(600)

    /// Handles an event of the recorder. The connection to the broker, the access to the history, messages that the
    /// broker dropped, and the delivery in the recorder's group decide if the recorder is ready. Other events have no
    /// effect.
    mutating func happened(_ event: RecorderEvent, now: ContinuousClock.Instant) {
        switch event {
        case .connected: self.isConnected = true
        // After a renewal of its credentials, the recorder connects again at once.
        case .disconnected(let lost): self.isConnected = self.isConnected && lost.isRenewal
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

    /// The reason for which the recorder receives nothing from the broker; `nil` while it is connected, and while it only
    /// waits for another recorder.
    var brokerReason: String? {
        self.isConnected || self.isWaiting
            ? nil : "the recorder's connection that receives records is not connected to the broker"
    }

    /// The reason for which the recorder's group does not work; `nil` while it works, and for a recorder that receives
    /// everything itself.
    var shareReason: String? {
        self.isShareSilent
            ? "the broker delivers nothing of the shared subscription: this recorder receives nothing" : nil
    }

    /// The reason for which messages may be missing, because the broker has dropped some within the last
    /// ``dropMemory``; otherwise `nil`.
    func queuesReason(now: ContinuousClock.Instant) -> String? {
        guard let last = self.lastDrop, last.duration(to: now) < Self.dropMemory else { return nil }
        return "the broker dropped messages: its queues are too short, or a client with a persistent session is away"
    }

    /// The reason for which the recorder does not store records; `nil` while the history can be reached and accepts
    /// them.
    var historyReason: String? {
        self.isStoreAway ? "the history rejects records. See the reason in the recorder's log" : nil
    }
}
