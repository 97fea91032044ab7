/// Decides how many messages the next delivery to a webhook contains, and what happens to messages that the webhook
/// rejects.
struct DeliverySize: Equatable {
    /// The decision that follows from a webhook's answer to a delivery.
    enum Verdict: Equatable {
        /// The webhook accepted the delivery: deliver the next messages.
        case accepted
        /// The webhook rejected a delivery of several messages: deliver the first half alone.
        case halved
        /// The webhook rejected a single message: skip this message, and deliver the next messages.
        case quarantined
        /// The delivery got no answer, or one that neither accepts nor rejects the messages: deliver them again after a
        /// pause.
        case `repeat`
    }

    /// The largest number of messages in the next delivery.
    private(set) var limit = Webhook.maximumMessages
    /// The number of failed deliveries in a row. The rejection of a single message counts as a failure; the rejection
    /// of several messages does not.
    ///
    /// The sender pauses after each failure. A webhook that rejects everything therefore does not empty the outbox
    /// quickly.
    private(set) var failures = 0

    /// Evaluates a webhook's answer to a delivery, and adjusts the number of messages in the next delivery.
    ///
    /// - Parameters:
    ///   - status: The HTTP status of the answer; `nil` for no answer.
    ///   - count: The number of delivered messages, ≥ 1.
    mutating func answered(_ status: Int?, count: Int) -> Verdict {
        switch status {
        case .some(200..<300):
            self.failures = 0
            self.limit = min(Webhook.maximumMessages, self.limit * 2)
            return .accepted
        case .some(400), .some(413), .some(422):
            guard count == 1 else {
                self.limit = count / 2
                return .halved
            }
            self.failures += 1
            return .quarantined
        default:
            self.failures += 1
            return .repeat
        }
    }
}
