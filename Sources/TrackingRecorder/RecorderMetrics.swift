import CoreMetrics
import TrackingCore
import TrackingStore

/// The metrics of a recorder: counters, gauges and the time to store a batch, reported through swift-metrics.
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
    private let isActive = Meter(label: "godwit_recorder_active")

    init() {
        for meter in [self.withheld, self.lag, self.isStoreAway, self.isConnected] { meter.set(0) }
        self.isActive.set(1)
    }

    /// Counts the records of a batch that was stored, and the time that storing it took.
    func stored(_ report: StoreReport, in time: Duration) {
        self.stored.increment(by: report.stored)
        self.duplicates.increment(by: report.duplicates)
        self.quarantined.increment(by: report.refused)
        self.overfull.increment(by: report.overfull)
        self.commit.recordNanoseconds(Int64(time.inSeconds * 1e9))
    }

    /// Sets the gauges of received messages that are not stored yet.
    ///
    /// - Parameters:
    ///   - withheld: The number of these messages, which are not acknowledged to the broker yet.
    ///   - lag: The age of the oldest of them.
    func note(withheld: Int, lag: Duration) {
        self.withheld.set(withheld)
        self.lag.set(lag.inSeconds)
    }

    /// Sets or increments the metrics for an event of the recorder: the connection, possible gaps, messages that the
    /// broker dropped, and the availability of the store.
    func happened(_ event: RecorderEvent) {
        switch event {
        case .connected: self.isConnected.set(1)
        case .disconnected: self.isConnected.set(0)
        case .possibleGap: self.possibleGaps.increment()
        case .brokerDropped(let count): self.brokerDropped.increment(by: count)
        case .storeAway: self.isStoreAway.set(1)
        case .storeBack: self.isStoreAway.set(0)
        case .voice, .subscriptionRefused, .shareDelivered, .shareUndelivered, .acknowledgementRefused, .cleared,
            .clearingRefused, .storeRefuses, .failed:
            break
        }
    }

    /// The help texts of the recorder's metrics, by metric name.
    static let helps = [
        "godwit_recorder_stored_total":
            "Points, trips and events that the recorder stored and that were not in the history before.",
        "godwit_recorder_duplicates_total":
            "Points, trips and events that the recorder received again and that were in the history already.",
        "godwit_recorder_quarantined_total":
            "Messages and records that the recorder quarantined because they are invalid or the store rejected them.",
        "godwit_recorder_overfull_total": "Streams with too many gaps in a commit, of which records were rejected.",
        "godwit_recorder_possible_gaps_total":
            "Connections of the recorder for which the broker had kept no session, so that messages may be missing.",
        "godwit_recorder_broker_dropped_total":
            "Messages that the broker dropped, for any of its clients, by the broker's own count.",
        "godwit_recorder_commit_seconds": "Seconds that the recorder needed to store a batch of messages.",
        "godwit_recorder_withheld_messages":
            "Messages that the recorder received and has not acknowledged to the broker yet.",
        "godwit_recorder_lag_seconds":
            "Age in seconds of the oldest message that the recorder received and has not stored yet.",
        "godwit_recorder_store_away": "1 while the recorder cannot write to the history, otherwise 0.",
        "godwit_recorder_active":
            "0 while this recorder does not have the lease of its name, otherwise 1.",
        "godwit_recorder_connected": "1 while the recorder's connection that receives messages is up, otherwise 0.",
    ]
}

/// The help texts of a recorder's metrics, for a program that serves the metrics.
public enum RecorderFigures {
    /// The help texts of the recorder's metrics, by their swift-metrics names.
    public static var helps: [String: String] { RecorderMetrics.helps }
}
