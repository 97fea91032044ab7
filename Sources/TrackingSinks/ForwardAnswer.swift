/// The result of sending a batch to a sink.
package struct ForwardAnswer: Hashable, Sendable {
    /// The decision that follows from an answer, or from a missing answer.
    package enum Verdict: Hashable, Sendable {
        /// The sink acknowledged the batch.
        case acknowledged
        /// The sink rejected a batch of this number of points because of its content or size.
        case rejectedContent(count: Int)
        /// Nothing is known of the batch: it is sent again.
        case failed
    }

    /// The decision that follows from the answer.
    package var verdict: Verdict
    /// The reason of a failure, with a remedy, for the log; empty for an acknowledgement.
    package var reason: String
    /// The wait that the sink requests in `Retry-After`; zero for none.
    package var requestedWait: Duration

    /// The longest wait that a sink can request: 1 h.
    package static let longestRequestedWait = Duration.seconds(3600)

    /// Makes the result of sending a batch.
    package init(_ verdict: Verdict, reason: String = "", requestedWait: Duration = .zero) {
        self.verdict = verdict
        self.reason = reason
        self.requestedWait = requestedWait
    }
}
