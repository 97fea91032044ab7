/// Decides how many messages go with a delivery, and what becomes of those that a webhook refuses. Touches no clock.
struct DeliverySize: Equatable {
    /// What becomes of a delivery.
    enum Verdict: Equatable {
        /// It was taken: the next ones go.
        case taken
        /// Its first half goes by itself.
        case halved
        /// It is the one message that is refused: it is set aside, and the next ones go.
        case setAside
        /// It goes again as it is.
        case again
    }

    /// The most messages of the next delivery.
    private(set) var limit = Webhook.maximumMessages
    /// How many deliveries in a row the webhook did not take, halves left out. A wait goes before the next one, so that a webhook
    /// that refuses everything is not run through.
    private(set) var failures = 0

    /// A delivery was answered.
    ///
    /// - Parameters:
    ///   - status: The answer's; `nil` for none.
    ///   - count: How many messages it had, ≥ 1.
    mutating func answered(_ status: UInt?, count: Int) -> Verdict {
        switch status {
        case .some(200..<300):
            self.failures = 0
            self.limit = min(Webhook.maximumMessages, self.limit * 2)
            return .taken
        case .some(400), .some(413), .some(422):
            guard count == 1 else {
                self.limit = count / 2
                return .halved
            }
            self.failures += 1
            return .setAside
        default:
            self.failures += 1
            return .again
        }
    }
}
