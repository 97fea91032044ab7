/// The answers of the recorders that lack records of a stream.
struct RecorderAnswers: Hashable, Sendable {
    /// The time of the last answer; `nil` before the first one.
    private var last: MonotonicTime?
    /// The number of batches that were repeated since the last answer to provoke another one.
    private(set) var unansweredProbes = 0
    /// `true` when no recorder has answered since a reconnection.
    private(set) var isReopened = false

    /// Returns `true` when a recorder answered at a time or later.
    func hasAnswered(since time: MonotonicTime) -> Bool { self.last.map { $0 >= time } ?? false }

    /// A recorder answered.
    mutating func answered(now: MonotonicTime) {
        self.last = now
        self.unansweredProbes = 0
        self.isReopened = false
    }

    /// A batch was repeated to provoke an answer.
    mutating func probed() { self.unansweredProbes += 1 }

    /// The connection was established again.
    ///
    /// - Returns: `false` when the recorders did not answer on the previous connection: that changes nothing.
    mutating func reopened() -> Bool {
        guard self.unansweredProbes == 0 else { return false }
        self.isReopened = true
        return true
    }
}
