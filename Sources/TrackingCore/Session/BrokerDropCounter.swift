/// Computes the number of messages that the broker has dropped for any of its clients since the last reading, from the
/// total that the broker publishes.
package struct BrokerDropCounter: Hashable, Sendable {
    /// The topic on which Mosquitto publishes the number of messages that it has dropped since its start.
    package static let topic = "$SYS/broker/publish/messages/dropped"

    /// The broker's last total on this connection; `nil` before the first one.
    private var last: Int?

    /// Makes a counter that has received no total of the broker.
    package init() {}

    /// Forgets the last total at the begin of a connection. The broker may have been restarted, and then counts from
    /// zero.
    package mutating func connected() { self.last = nil }

    /// Reads a total that the broker published. A payload that is not a number is ignored.
    ///
    /// - Returns: The number of messages dropped since the previous total on this connection; 0 for the first total.
    package mutating func received(_ payload: ArraySlice<UInt8>) -> Int {
        guard let count = Int(String(decoding: payload.prefix(20), as: UTF8.self)), count >= 0 else { return 0 }
        let increase = count - (self.last ?? count)
        self.last = count
        return max(0, increase)
    }
}
