/// The times and counts that show if the recorders answer about the records of one stream. They matter while the
/// recorders have not acknowledged all records of the stream.
struct RecorderAnswers: Hashable, Sendable {
    /// The time at which a recorder last answered about the stream; `nil` before the first answer.
    private var last: MonotonicTime?
    /// The number of probes since a recorder last answered. A probe is an old batch that is sent again only to get an
    /// answer from a recorder.
    private(set) var unansweredProbes = 0
    /// `true` from a reconnection to the broker until a recorder answers. Stays `false` if the recorders were silent
    /// before the reconnection.
    private(set) var isReopened = false

    /// Returns `true` when a recorder last answered about the stream at the given time or later.
    func hasAnswered(since time: MonotonicTime) -> Bool { self.last.map { $0 >= time } ?? false }

    /// Registers that a recorder answered about the stream. No probe then counts as unanswered, and ``isReopened``
    /// becomes `false`.
    mutating func answered(now: MonotonicTime) {
        self.last = now
        self.unansweredProbes = 0
        self.isReopened = false
    }

    /// Counts a probe as unanswered: an old batch was sent again only to get an answer from a recorder.
    mutating func probed() { self.unansweredProbes += 1 }

    /// Registers a reconnection to the broker. Sets ``isReopened`` unless a probe is unanswered. A probe is an old
    /// batch that was sent again only to get an answer from a recorder.
    ///
    /// - Returns: `true` if no probe is unanswered. `false` if a probe is unanswered: the recorders are silent, and
    ///   nothing was changed.
    mutating func reopened() -> Bool {
        guard self.unansweredProbes == 0 else { return false }
        self.isReopened = true
        return true
    }
}
