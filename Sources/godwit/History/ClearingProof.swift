import TrackingCore

/// Collects evidence that the retained messages of some topics were cleared at the broker.
///
/// A broker of MQTT 5 reports a rejected publish. A broker of MQTT 3.1.1 acknowledges it all the same. There, the only
/// proof is that this program receives its own clearing message from the broker.
struct ClearingProof {
    /// The topics to clear, in the order in which they are reported.
    let topics: [String]
    private var refusals: [String: String] = [:]
    private var readBack: Set<String> = []
    private var retained: Set<String> = []
    private var unreadable: Set<String> = []

    init(of topics: [String]) { self.topics = topics }

    /// `true` once each topic's clearing message was received or refused, so that no more evidence is expected.
    var isComplete: Bool { self.topics.allSatisfy { self.readBack.contains($0) || self.refusals[$0] != nil } }

    /// Records that the broker refused to clear a topic.
    mutating func wasRefused(_ topic: String, _ reason: String) { self.refusals[topic] = reason }

    /// Records that the message that cleared a topic was received from the broker.
    mutating func wasReadBack(_ topic: String) { self.readBack.insert(topic) }

    /// Records that a topic had a retained message after it was cleared.
    mutating func isRetained(_ topic: String) { self.retained.insert(topic) }

    /// Records that no message of a topic was received, and that no evidence shows this user's right to read the topic.
    mutating func isUnreadable(_ topic: String) { self.unreadable.insert(topic) }

    /// Returns the topics that are not proven to be cleared, each with the reason.
    ///
    /// - Parameter reportsRefusals: `true` if the broker reports each rejected publish.
    func remains(reportsRefusals: Bool) -> [(topic: String, reason: String)] {
        self.topics.compactMap { topic in self.reason(topic, reportsRefusals).map { (topic, $0) } }
    }

    private func reason(_ topic: String, _ reportsRefusals: Bool) -> String? {
        if let refusal = self.refusals[topic] { return refusal }
        if self.retained.contains(topic) {
            return "a message is still retained: this user may not clear it, or a device has published since"
        }
        if self.unreadable.contains(topic) {
            return "not proven: this user cannot read the topic, so the age of its message is unknown"
        }
        guard !self.readBack.contains(topic), !reportsRefusals else { return nil }
        return "not proven: the broker uses MQTT 3.1.1, which reports no refusal, and this user cannot read the topic"
    }
}
