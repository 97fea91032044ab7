import TrackingCore

/// Messages that are stored together, and the parts of them that are not stored yet.
struct RecorderPage: Sendable {
    /// The batch that is stored next: the whole page, or a part of it after the store refused the whole.
    var batch = RecordingBatch()
    /// The number of messages.
    private(set) var messages = 0
    /// The number of their records: points, trips, events, records declared gone, and records set aside.
    private(set) var records = 0
    /// The number of bytes of their payloads.
    private(set) var bytes = 0
    /// The arrival of the first message; `nil` for an empty page.
    private(set) var since: MonotonicTime?
    /// The number of messages that were received on `connection` when the page was closed.
    var through = 0
    var connection = -1
    /// The trackables whose devices wait for an acknowledgement.
    var awaited: Set<TrackableID> = []
    /// The acknowledgements that follow once the whole page is durable.
    private(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]
    /// The parts that are stored after `batch`.
    private var rest: [RecordingBatch] = []
    private var refusals = 0

    /// Returns `true` if the page has as many messages as the window, or the limit of records or bytes.
    func isFull(of window: Int) -> Bool {
        self.messages >= window || self.records >= RecorderConfiguration.pageRecords
            || self.bytes >= RecorderConfiguration.pageBytes
    }

    /// Adds a message.
    mutating func add(_ message: IncomingMessage, root: TopicRoot, receivedAt: UnixTime, now: MonotonicTime) {
        let (recordings, refused) = (self.batch.recordings.count, self.batch.refused.count)
        self.batch.received(message, root: root, at: receivedAt)
        self.records += self.batch.recordings[recordings...].reduce(self.batch.refused.count - refused) {
            $0 + $1.points.count + $1.trips.count + $1.events.count + ($1.declaration?.gone.count ?? 0)
        }
        self.bytes += message.payload.count
        self.countMessage(now)
    }

    /// Adds a note that is stored with the messages.
    mutating func add(_ note: RefusedMessage, now: MonotonicTime) {
        self.batch.refused.append(note)
        self.countMessage(now)
    }

    private mutating func countMessage(_ now: MonotonicTime) {
        self.messages += 1
        self.since = self.since ?? now
    }

    /// The store accepted ``batch``.
    ///
    /// - Returns: `true` if that was the last part; otherwise ``batch`` is the next one.
    mutating func stored(_ acknowledgements: [TrackableID: Acknowledgement]) -> Bool {
        self.acknowledgements.merge(acknowledgements) { $1 }
        guard !self.rest.isEmpty else { return true }
        self.batch = self.rest.removeFirst()
        return false
    }

    /// The store refused ``batch``. After ``RecorderConfiguration/triesBeforeBlame`` attempts the batch is halved,
    /// until the refused record is alone; that record is quarantined with the reason.
    ///
    /// - Returns: The next step.
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

    /// The next step after a refusal.
    enum Refusal: Hashable, Sendable {
        /// Store the same batch again, a little later.
        case tryAgain
        /// Store the first half: the search for the refused record begins.
        case search
        /// Store the next part of the search.
        case goOn
    }
}

extension RecordingBatch {
    /// The trackables whose devices wait for an acknowledgement: those of which a batch arrived, even one that cannot
    /// be read, and those whose publisher arrived.
    var awaited: Set<TrackableID> {
        let recorded = self.recordings.lazy.filter { recording in
            recording.declaration != nil
                || recording.state.map { $0.json != nil && $0.name.hasPrefix("publisher/") } ?? false
        }
        return Set(recorded.map(\.trackable)).union(self.refused.lazy.compactMap(\.trackable))
    }
}
