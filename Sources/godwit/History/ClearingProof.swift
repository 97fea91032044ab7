import TrackingCore

/// Collects evidence that the retained messages of some topics were cleared at the broker.
///
/// With MQTT 5, the broker reports a rejected clearing. With MQTT 3.1.1, it acknowledges every publish. The only proof
/// is then that this program receives its own clearing message back from the broker.
struct ClearingProof {
    /// The topics for which the program needs evidence that their retained messages were cleared. Topics without a
    /// proof are reported in this order.
    let topics: [String]
    private var refusals: [String: String] = [:]
    private var readBack: Set<String> = []
    private var retained: Set<String> = []
    private var unreadable: Set<String> = []

    init(of topics: [String]) { self.topics = topics }

    /// `true` once this program has, for each topic, received its clearing message back or learned that the broker
    /// rejected it. No more evidence is then expected.
    var isComplete: Bool { self.topics.allSatisfy { self.readBack.contains($0) || self.refusals[$0] != nil } }

    /// Adds the evidence that the broker rejected the clearing of a topic, with the broker's reason.
    mutating func wasRefused(_ topic: String, _ reason: String) { self.refusals[topic] = reason }

    /// Adds the evidence that this program received its own clearing message of a topic back from the broker.
    mutating func wasReadBack(_ topic: String) { self.readBack.insert(topic) }

    /// Adds the evidence that the broker retains a message on a topic after the clearing: the clearing did not work
    /// there, or a device has published since.
    mutating func isRetained(_ topic: String) { self.retained.insert(topic) }

    /// Records that it is unknown if the broker retains a message on a topic, because this user probably may not read
    /// the topic. The clearing is then not proven.
    mutating func isUnreadable(_ topic: String) { self.unreadable.insert(topic) }

    /// Returns the topics for which the clearing is not proven, each with the reason.
    ///
    /// - Parameter reportsRefusals: `true` if the broker reports each rejected publish, as with MQTT 5.
    func remains(reportsRefusals: Bool) -> [(topic: String, reason: String)] {
        self.topics.compactMap { topic in self.reason(topic, reportsRefusals).map { (topic, $0) } }
    }

    private func reason(_ topic: String, _ reportsRefusals: Bool) -> String? {
        if let refusal = self.refusals[topic] { return refusal }
        if self.retained.contains(topic) {
            return "a message is still retained: this user may not clear it, or a device has published since"
        }
        if self.unreadable.contains(topic) {
            return "the clearing is not proven: this user cannot read the topic, so the age of its message is unknown"
        }
        guard !self.readBack.contains(topic), !reportsRefusals else { return nil }
        return
            "the clearing is not proven: the broker uses MQTT 3.1.1, which reports no refusal, and this user cannot read the topic"
    }
}
