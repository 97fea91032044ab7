public import TrackingCore

/// The messages that the broker dropped while this program was connected, by the broker's own count.
public struct BrokerDrops: Hashable, Sendable {
    /// The topic on which Mosquitto publishes the number of messages that it has dropped.
    public static let topic = BrokerDropCounter.topic

    /// The number of messages dropped since the first count of a connection, over all connections.
    public private(set) var count = 0
    /// The time of the last increase; `nil` before the first one.
    public private(set) var lastIncrease: MonotonicTime?
    private var counter = BrokerDropCounter()

    /// Starts without a count.
    public init() {}

    /// Begins a connection: the broker may have been restarted, and then counts from zero.
    mutating func connected() { self.counter.connected() }

    /// Takes over the broker's count. Anything that is not a number is ignored.
    mutating func received(_ payload: ArraySlice<UInt8>, now: MonotonicTime) {
        let increase = self.counter.received(payload)
        guard increase > 0 else { return }
        self.count += increase
        self.lastIncrease = now
    }
}
