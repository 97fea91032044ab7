public import TrackingCore

/// The number of messages that the broker dropped while this program was connected. The broker counts the drops of all
/// its clients together.
public struct BrokerDrops: Hashable, Sendable {
    /// The topic on which Mosquitto publishes the total number of messages that it has dropped.
    public static let topic = BrokerDropCounter.topic

    /// The shortest time between two warnings about dropped messages.
    static let warningPause = Duration.seconds(600)

    /// The number of messages that the broker dropped for any of its clients while this program was connected; the sum
    /// over all connections of this program.
    public private(set) var count = 0
    /// The time at which the count of dropped messages last increased; `nil` before the first increase.
    public private(set) var lastIncrease: MonotonicTime?
    private var counter = BrokerDropCounter()

    /// Creates a count of the messages that the broker dropped. It begins at zero.
    public init() {}

    /// Handles a new connection to the broker. The broker may have restarted its count, so the next received count is
    /// only a new starting value.
    mutating func connected() { self.counter.connected() }

    /// Handles the broker's total of dropped messages, and adds the increase since the last total. A payload that is
    /// not a number is ignored.
    mutating func received(_ payload: ArraySlice<UInt8>, now: MonotonicTime) {
        let increase = self.counter.received(payload)
        guard increase > 0 else { return }
        self.count += increase
        self.lastIncrease = now
    }
}
