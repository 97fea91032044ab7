import TrackingCore

/// Messages that are stored together, and what is left to store of them.
struct RecorderPage: Sendable {
    /// What is stored next: all of it, or a part where the store refused the whole.
    var batch = RecordingBatch()
    /// How many messages it is made of.
    private(set) var messages = 0
    /// How many records they brought: points, trips, events, what is declared gone, and what is set aside.
    private(set) var records = 0
    /// How many bytes they were.
    private(set) var bytes = 0
    /// When the first of them came.
    private(set) var since: MonotonicTime?
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

    /// Whether it is closed: with so many messages, or with as many records or bytes as memory is for.
    func isFull(of window: Int) -> Bool {
        self.messages >= window || self.records >= RecorderConfiguration.pageRecords
            || self.bytes >= RecorderConfiguration.pageBytes
    }

    /// A message came.
    mutating func take(_ message: IncomingMessage, root: TopicRoot, receivedAt: UnixTime, now: MonotonicTime) {
        let (recordings, refused) = (self.batch.recordings.count, self.batch.refused.count)
        self.batch.received(message, root: root, at: receivedAt)
        self.records += self.batch.recordings[recordings...].reduce(self.batch.refused.count - refused) {
            $0 + $1.points.count + $1.trips.count + $1.events.count + ($1.declaration?.gone.count ?? 0)
        }
        self.bytes += message.payload.count
        self.count(now)
    }

    /// A note is stored with the messages.
    mutating func take(_ note: RefusedMessage, now: MonotonicTime) {
        self.batch.refused.append(note)
        self.count(now)
    }

    private mutating func count(_ now: MonotonicTime) {
        self.messages += 1
        self.since = self.since ?? now
    }

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
