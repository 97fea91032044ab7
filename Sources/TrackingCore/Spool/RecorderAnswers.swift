/// The answers of recorders about one stream, while they have not acknowledged all its records.
struct RecorderAnswers: Hashable, Sendable {
    /// The time at which a recorder last answered; `nil` before the first answer.
    private var last: MonotonicTime?
    /// The number of batches sent again since the last answer of a recorder. A batch is sent again so that a recorder
    /// answers it.
    private(set) var unansweredProbes = 0
    /// `true` from a reconnection until a recorder answers.
    private(set) var isReopened = false

    /// Returns `true` when a recorder answered at the given time or later.
    func hasAnswered(since time: MonotonicTime) -> Bool { self.last.map { $0 >= time } ?? false }

    /// Registers that a recorder answered.
    mutating func answered(now: MonotonicTime) {
        self.last = now
        self.unansweredProbes = 0
        self.isReopened = false
    }

    /// Registers that a batch was sent again, so that a recorder answers it.
    mutating func probed() { self.unansweredProbes += 1 }

    /// Registers a reconnection to the broker.
    ///
    /// - Returns: `true` when the recorders had answered all batches that were sent again for an answer. Otherwise
    ///   returns `false` and changes nothing.
    mutating func reopened() -> Bool {
        guard self.unansweredProbes == 0 else { return false }
        self.isReopened = true
        return true
    }
}
