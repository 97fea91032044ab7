import TrackingCore

/// The evidence that the retained messages of some topics were cleared.
///
/// A broker of MQTT 5 reports a publish that it refuses. One of MQTT 3.1.1 acknowledges it all the same: there the message that
/// comes back to its publisher is the only proof.
struct ClearingProof {
    /// The topics, in the order in which they are reported.
    let topics: [String]
    private var refusals: [String: String] = [:]
    private var readBack: Set<String> = []
    private var retained: Set<String> = []
    private var unreadable: Set<String> = []

    init(of topics: [String]) { self.topics = topics }

    /// `true` once nothing more is to be expected: each topic was read back, or refused.
    var isComplete: Bool { self.topics.allSatisfy { self.readBack.contains($0) || self.refusals[$0] != nil } }

    /// The broker refused to clear a topic.
    mutating func wasRefused(_ topic: String, _ reason: String) { self.refusals[topic] = reason }

    /// The message that cleared a topic came back.
    mutating func wasReadBack(_ topic: String) { self.readBack.insert(topic) }

    /// A topic had a retained message after it was cleared.
    mutating func isRetained(_ topic: String) { self.retained.insert(topic) }

    /// Nothing was read of a topic, and nothing proves that this user may read it.
    mutating func isUnreadable(_ topic: String) { self.unreadable.insert(topic) }

    /// The topics that are not proven to be cleared, and why.
    ///
    /// - Parameter reportsRefusals: `true` where the broker reports each publish that it refuses.
    func remains(reportsRefusals: Bool) -> [(topic: String, reason: String)] {
        self.topics.compactMap { topic in self.reason(topic, reportsRefusals).map { (topic, $0) } }
    }

    private func reason(_ topic: String, _ reportsRefusals: Bool) -> String? {
        if let refusal = self.refusals[topic] { return refusal }
        if self.retained.contains(topic) {
            return "a message is retained still: this user may not clear it, or a device has published since"
        }
        if self.unreadable.contains(topic) {
            return "not proven: this user cannot read the topic, so that the age of its message is not known"
        }
        guard !self.readBack.contains(topic), !reportsRefusals else { return nil }
        return "not proven: the broker speaks MQTT 3.1.1, which reports no refusal, and this user cannot read the topic"
    }
}
