/// The result of one test at a broker, without a judgement.
public enum CertificateObservation: Hashable, Sendable {
    /// Numbered messages were published and received.
    case delivery(MessageDelivery)
    /// `true` if the broker behaves as the check states.
    case answer(Bool)
    /// The number of things that worked, and the number of things that were tried.
    case amount(Int, of: Int)
    /// Two members of a shared subscription received these numbers of messages. Of `published` messages, `distinct` ones
    /// arrived.
    case shares([Int], distinct: Int, published: Int)
    /// The broker refused the test, or the test ended with an error. The text has no credentials.
    case error(String)
    /// The test was not made, for this reason.
    case untried(String)
}

/// The comparison of numbered messages that a broker acknowledged with those that a client received.
public struct MessageDelivery: Hashable, Sendable {
    /// The number of messages that were published.
    public let published: Int
    /// The number of messages that the broker acknowledged.
    public let accepted: Int
    /// The number of acknowledged messages that the client did not receive.
    public let lost: Int
    /// The number of messages that arrived after a message with a higher number. A repeated message does not count.
    public let misplaced: Int
    /// The number of messages that arrived more than once.
    public let repeated: Int

    /// Compares the messages that were published on one topic with those that arrived.
    ///
    /// - Parameters:
    ///   - accepted: For each published message, from number 0, `true` if the broker acknowledged it.
    ///   - received: The numbers of the messages that arrived, in the order of their arrival. Numbers that were not
    ///     published are ignored.
    public init(accepted: [Bool], received: [Int]) {
        var seen: Set<Int> = []
        var highest = -1
        var misplaced = 0
        var repeated = 0
        for number in received where accepted.indices.contains(number) {
            guard seen.insert(number).inserted else {
                repeated += 1
                continue
            }
            if number < highest { misplaced += 1 }
            highest = max(highest, number)
        }
        self.published = accepted.count
        self.accepted = accepted.count { $0 }
        self.lost = accepted.indices.count { accepted[$0] && !seen.contains($0) }
        self.misplaced = misplaced
        self.repeated = repeated
    }

    /// `true` if the broker acknowledged every message, and the client received every message in order.
    var isComplete: Bool { self.accepted == self.published && self.lost == 0 && self.misplaced == 0 }
}
