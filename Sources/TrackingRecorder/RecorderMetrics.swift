import CoreMetrics
import TrackingCore
import TrackingStore

/// The metrics of a recorder, through swift-metrics.
struct RecorderMetrics: Sendable {
    private let stored = Counter(label: "godwit_recorder_stored_total")
    private let duplicates = Counter(label: "godwit_recorder_duplicates_total")
    private let quarantined = Counter(label: "godwit_recorder_quarantined_total")
    private let overfull = Counter(label: "godwit_recorder_overfull_total")
    private let possibleGaps = Counter(label: "godwit_recorder_possible_gaps_total")
    private let brokerDropped = Counter(label: "godwit_recorder_broker_dropped_total")
    private let commit = Timer(label: "godwit_recorder_commit_seconds")
    private let withheld = Meter(label: "godwit_recorder_withheld_messages")
    private let lag = Meter(label: "godwit_recorder_lag_seconds")
    private let isStoreAway = Meter(label: "godwit_recorder_store_away")
    private let isConnected = Meter(label: "godwit_recorder_connected")

    init() {
        for meter in [self.withheld, self.lag, self.isStoreAway, self.isConnected] { meter.set(0) }
    }

    /// Counts a stored batch.
    func stored(_ report: StoreReport, in time: Duration) {
        self.stored.increment(by: report.stored)
        self.duplicates.increment(by: report.duplicates)
        self.quarantined.increment(by: report.refused)
        self.overfull.increment(by: report.overfull)
        self.commit.recordNanoseconds(Int64(time.inSeconds * 1e9))
    }

    /// Sets the gauges of the messages that are not stored yet.
    func note(withheld: Int, lag: Duration) {
        self.withheld.set(withheld)
        self.lag.set(lag.inSeconds)
    }

    /// Counts an event.
    func happened(_ event: RecorderEvent) {
        switch event {
        case .connected: self.isConnected.set(1)
        case .disconnected: self.isConnected.set(0)
        case .possibleGap: self.possibleGaps.increment()
        case .brokerDropped(let count): self.brokerDropped.increment(by: count)
        case .storeAway: self.isStoreAway.set(1)
        case .storeBack: self.isStoreAway.set(0)
        case .voice, .subscriptionRefused, .acknowledgementRefused, .cleared, .clearingRefused, .storeRefuses, .failed:
            break
        }
    }

    /// The descriptions of the metrics, by name.
    static let helps = [
        "godwit_recorder_stored_total": "Points, trips and events that were new.",
        "godwit_recorder_duplicates_total": "Points, trips and events that came again.",
        "godwit_recorder_quarantined_total": "Messages and records that were set aside.",
        "godwit_recorder_overfull_total": "Records not taken because their stream has too many gaps.",
        "godwit_recorder_possible_gaps_total": "Connections on which the broker had kept no session.",
        "godwit_recorder_broker_dropped_total": "Messages that the broker dropped, for whomever.",
        "godwit_recorder_commit_seconds": "How long it took to store a batch.",
        "godwit_recorder_withheld_messages": "Messages that came and are not acknowledged to the broker yet.",
        "godwit_recorder_lag_seconds": "How long the oldest of them has waited.",
        "godwit_recorder_store_away": "1 while the history takes nothing.",
        "godwit_recorder_connected": "1 while the connection that takes in stands.",
    ]
}

/// The metrics of a recorder, for a page that describes them.
public enum RecorderFigures {
    /// The descriptions of the metrics, by their swift-metrics names.
    public static var helps: [String: String] { RecorderMetrics.helps }
}
