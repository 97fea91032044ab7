public import TrackingCore

/// The number of messages that the broker dropped while this program was connected, for any of the broker's clients and
/// by the broker's own count.
public struct BrokerDrops: Hashable, Sendable {
    /// The topic on which Mosquitto publishes the total number of messages that it has dropped.
    public static let topic = BrokerDropCounter.topic

    /// The number of messages that the broker dropped while this program was connected, added over all connections.
    public private(set) var count = 0
    /// The time at which the broker's count of dropped messages last increased; `nil` before the first increase.
    public private(set) var lastIncrease: MonotonicTime?
    private var counter = BrokerDropCounter()

    /// Creates a count of zero dropped messages.
    public init() {}

    /// A connection to the broker was made. The broker may have been restarted, so its next count is not compared with
    /// the last one.
    mutating func connected() { self.counter.connected() }

    /// The broker published its count of dropped messages. A payload that is not a number is ignored.
    mutating func received(_ payload: ArraySlice<UInt8>, now: MonotonicTime) {
        let increase = self.counter.received(payload)
        guard increase > 0 else { return }
        self.count += increase
        self.lastIncrease = now
    }
}
