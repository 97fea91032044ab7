import TrackingCore

/// Messages that are stored together, and what is left to store of them.
struct RecorderPage: Sendable {
    /// What is stored next: all of it, or a part where the store refused the whole.
    var batch = RecordingBatch()
    /// How many messages it is made of.
    var messages = 0
    /// When the first of them came.
    var since: MonotonicTime?
    /// How many messages had come on `connection` when it was closed.
    var through = 0
    var connection = -1
    /// The trackables that somebody waits for an acknowledgement of.
    var awaited: Set<TrackableID> = []
    /// What may be acknowledged once all of it is durable.
    private(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]
    /// The parts that are stored after `batch`.
    private var rest: [RecordingBatch] = []
    private var refusals = 0

    /// The store took ``batch``.
    ///
    /// - Returns: Whether that was all; otherwise ``batch`` is the next part.
    mutating func stored(_ acknowledgements: [TrackableID: Acknowledgement]) -> Bool {
        self.acknowledgements.merge(acknowledgements) { $1 }
        guard !self.rest.isEmpty else { return true }
        self.batch = self.rest.removeFirst()
        return false
    }

    /// The store refused what is in ``batch``. After some tries a half of it is next, at last the one record, as a gap with the
    /// reason.
    ///
    /// - Returns: What is to be done now.
    mutating func refused(_ error: TrackingError, root: TopicRoot) -> Refusal {
        self.refusals += 1
        guard self.refusals >= RecorderConfiguration.triesBeforeBlame else { return .tryAgain }
        if let (first, second) = self.batch.halved() {
            self.batch = first
            self.rest.insert(second, at: 0)
        } else {
            self.batch = self.batch.setAside(because: error.message, root: root)
        }
        return self.refusals == RecorderConfiguration.triesBeforeBlame ? .search : .goOn
    }

    /// What follows from a refusal.
    enum Refusal: Hashable, Sendable {
        /// The same, a little later.
        case tryAgain
        /// What is refused is looked for, from now on.
        case search
        /// It is looked for further.
        case goOn
    }
}
