import TrackingCore

/// A page: received messages that the recorder stores and acknowledges together. After the store rejected the page, it
/// is stored in parts.
struct RecorderPage: Sendable {
    /// The batch that the store gets next: the records of all messages on the page or, after the store rejected them
    /// together, of one part of the page.
    var batch = RecordingBatch()
    /// The number of messages on the page, a group of received messages that are stored together.
    private(set) var messages = 0
    /// The number of records in the page's messages: points, trips, events, quarantined messages, and each record
    /// that a publisher declared gone.
    private(set) var records = 0
    /// The number of payload bytes of the messages on the page, a group of received messages that are stored together.
    private(set) var bytes = 0
    /// `true` if one of the page's messages was a retained one.
    private(set) var hasRetained = false
    /// The time at which the page's first message arrived; `nil` for an empty page.
    private(set) var since: MonotonicTime?
    /// The number of messages that had arrived on the intake connection `connection` when the page was given to the
    /// store. The recorder acknowledges all messages up to this number to the broker once the page is stored.
    var through = 0
    /// The number of the intake connection on which the page's messages were received; -1 if there was no connection.
    var connection = -1
    /// The trackables on the page whose devices wait for an acknowledgement of the recorder.
    var awaited: Set<TrackableID> = []
    /// The acknowledgements, by trackable, to publish once all records of the page are stored durably.
    private(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]
    /// The parts into which the page was divided after the store rejected the whole page. They are stored one after the
    /// other, after `batch`.
    private var rest: [RecordingBatch] = []
    private var refusals = 0

    /// Returns `true` if the page must be stored before another message is added: it has `window` messages, or as many
    /// records or bytes as a page may have.
    func isFull(of window: Int) -> Bool {
        self.messages >= window || self.records >= RecorderConfiguration.pageRecords
            || self.bytes >= RecorderConfiguration.pageBytes
    }

    /// Adds a received message to the page. A message that cannot be decoded is quarantined.
    mutating func add(_ message: IncomingMessage, root: TopicRoot, receivedAt: UnixTime, now: MonotonicTime) {
        let (recordings, refused) = (self.batch.recordings.count, self.batch.refused.count)
        self.batch.received(message, root: root, at: receivedAt)
        self.records += self.batch.recordings[recordings...].reduce(self.batch.refused.count - refused) {
            $0 + $1.points.count + $1.trips.count + $1.events.count + ($1.declaration?.gone.count ?? 0)
        }
        self.bytes += message.payload.count
        if message.isRetained { self.hasRetained = true }
        self.countMessage(now)
    }

    /// Adds an entry that the recorder itself writes to the quarantine, such as a possible gap.
    mutating func add(_ note: RefusedMessage, now: MonotonicTime) {
        self.batch.refused.append(note)
        self.countMessage(now)
    }

    private mutating func countMessage(_ now: MonotonicTime) {
        self.messages += 1
        self.since = self.since ?? now
    }

    /// Handles that the history store accepted the present batch of the page.
    ///
    /// - Parameter acknowledgements: The acknowledgements of the batch, by trackable.
    /// - Returns: `true` if the whole page is stored; `false` if ``batch`` is now the next part to store.
    mutating func stored(_ acknowledgements: [TrackableID: Acknowledgement]) -> Bool {
        self.acknowledgements.merge(acknowledgements) { $1 }
        guard !self.rest.isEmpty else { return true }
        self.batch = self.rest.removeFirst()
        return false
    }

    /// Decides how the recorder goes on after the history store rejected the present batch of the page. The batch is
    /// stored again at first. From attempt ``RecorderConfiguration/triesBeforeBlame`` on, the batch is halved again and
    /// again, until the rejected record is alone. That record is quarantined with the reason.
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

    /// The next step of the recorder after the history store rejected a batch: repeat it, or search for the rejected
    /// record.
    enum Refusal: Hashable, Sendable {
        /// The recorder stores the same batch again after a wait, because the store may then accept it.
        case tryAgain
        /// The search for the rejected record begins: the recorder stores the first half of the batch.
        case search
        /// The search for the rejected record continues: the recorder stores the next part of the batch.
        case goOn
    }
}

extension RecordingBatch {
    /// The trackables whose devices wait for an acknowledgement. A device waits after it sent a batch of records or a
    /// publisher's presence, or a message that was quarantined. A presence that was cleared does not count.
    var awaited: Set<TrackableID> {
        let recorded = self.recordings.lazy.filter { recording in
            recording.declaration != nil
                || recording.state.map { $0.json != nil && $0.name.hasPrefix("publisher/") } ?? false
        }
        return Set(recorded.map(\.trackable)).union(self.refused.lazy.compactMap(\.trackable))
    }
}
