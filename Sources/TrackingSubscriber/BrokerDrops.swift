public import TrackingCore

/// The messages that the broker dropped while this program was connected, by the broker's own count.
public struct BrokerDrops: Hashable, Sendable {
    /// The topic on which Mosquitto publishes the number of messages that it has dropped.
    public static let topic = "$SYS/broker/publish/messages/dropped"

    /// The number of messages dropped since the first count of a connection, over all connections.
    public private(set) var count = 0
    /// The time of the last increase; `nil` before the first one.
    public private(set) var lastIncrease: MonotonicTime?
    /// The broker's last count on this connection; `nil` before the first one.
    private var last: Int?

    /// Starts without a count.
    public init() {}

    /// Begins a connection: the broker may have been restarted, and counts from zero then.
    mutating func connected() { self.last = nil }

    /// Takes over the broker's count. Anything that is not a number is ignored.
    mutating func received(_ payload: ArraySlice<UInt8>, now: MonotonicTime) {
        guard let count = Int(String(decoding: payload.prefix(20), as: UTF8.self)), count >= 0 else { return }
        let increase = count - (self.last ?? count)
        self.last = count
        guard increase > 0 else { return }
        self.count += increase
        self.lastIncrease = now
    }
}
