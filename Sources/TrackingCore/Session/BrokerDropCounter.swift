/// Computes how many messages the broker dropped, over all its clients, between two totals that it published. The
/// broker itself publishes only the total since its start.
package struct BrokerDropCounter: Hashable, Sendable {
    /// The topic on which the broker Mosquitto publishes the number of messages that it has dropped since its start.
    package static let topic = "$SYS/broker/publish/messages/dropped"

    /// The number of dropped messages that the broker published last on this connection; `nil` before the first one.
    private var last: Int?

    /// Makes a counter to which the broker has reported no total of dropped messages yet.
    package init() {}

    /// Forgets the broker's last total of dropped messages at the start of a connection, because a restarted broker
    /// counts from zero again.
    package mutating func connected() { self.last = nil }

    /// Reads the broker's message with its total number of dropped messages. A payload that is not a whole number of at
    /// least 0 is ignored.
    ///
    /// - Returns: The number of messages that were dropped since the previous total on this connection; 0 for the first
    ///   total, for a total below the previous one, and for an ignored payload.
    package mutating func received(_ payload: ArraySlice<UInt8>) -> Int {
        guard let count = Int(String(decoding: payload.prefix(20), as: UTF8.self)), count >= 0 else { return 0 }
        let increase = count - (self.last ?? count)
        self.last = count
        return max(0, increase)
    }
}
