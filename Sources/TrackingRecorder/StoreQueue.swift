import TrackingCore

/// The received messages of a recorder that are not durable yet, and the attempts to store them in the history.
///
/// Received messages wait on a page. While the history store works on one page, the next page fills. A page is given to
/// the store again and again until the store accepts it.
struct StoreQueue: Sendable {
    typealias Action = RecorderStateMachine.Action

    /// The state of the recorder's work with the history store.
    private enum Storing: Sendable {
        /// The recorder has given the store no batch. Can transition to: `busy`.
        case idle
        /// The recorder has given a batch to the store, and the store has not answered. Can transition to: `idle`,
        /// `waiting`, or `busy` with the next batch of the same page.
        case busy(Attempt)
        /// The store failed. The recorder gives the same batch to the store again at the time `until`. Can transition
        /// to: `busy`.
        case waiting(Attempt, until: MonotonicTime)
    }

    /// The attempt to store one page, a group of received messages.
    private struct Attempt: Sendable {
        var page: RecorderPage
        var backoff = Backoff(
            first: RecorderConfiguration.firstStoreWait, maximum: RecorderConfiguration.longestStoreWait)
        /// The time at which the page was given to the store for the first time.
        let since: MonotonicTime
        /// `true` once the recorder has reported that the store does not answer for this page.
        var isOverdue = false

        /// The time at which the recorder reports that the store does not answer; `nil` if it has already reported a
        /// missing answer or a failure for this page.
        var overdueAt: MonotonicTime? {
            self.backoff.failures > 0 || self.isOverdue
                ? nil : self.since.advanced(by: RecorderConfiguration.longestCommit)
        }
    }

    /// The progress after the history store made a batch durable: a part of a page, or a whole page, is stored.
    enum Progress: Sendable {
        /// The history store answered although it had no batch of this queue. The answer has no effect.
        case none
        /// A part of a page (a group of received messages) is stored. This batch is the next part, which is given to
        /// the store now.
        case part(RecordingBatch)
        /// A whole page is stored. `outage` is the time for which the store had failed or not answered; `nil` if it
        /// had worked.
        case page(RecorderPage, outage: Duration?)
    }

    private let window: Int
    private let root: TopicRoot
    private var storing = Storing.idle
    /// The page of received messages that was not given to the store yet.
    private var waiting = RecorderPage()

    /// Creates a queue without messages.
    init(configuration: RecorderConfiguration) {
        self.window = configuration.window
        self.root = configuration.topicRoot
    }

    private var storedPage: RecorderPage? {
        switch self.storing {
        case .idle: nil
        case .busy(let attempt), .waiting(let attempt, _): attempt.page
        }
    }

    /// `true` while the history store has a batch and has not answered.
    var isBusy: Bool { if case .busy = self.storing { true } else { false } }

    /// `true` while every received message is stored in the history, so that the queue is empty.
    var isEmpty: Bool { self.storedPage == nil && self.waiting.since == nil }

    /// `true` while the store still works on one page of messages, and the next page is full.
    var isFull: Bool { self.storedPage != nil && self.waiting.isFull(of: self.window) }

    /// The number of received messages that are not stored yet.
    var messages: Int { self.waiting.messages + (self.storedPage?.messages ?? 0) }

    /// The time at which the oldest message that is not stored yet was received; `nil` without such a message.
    var since: MonotonicTime? { .earlier(self.storedPage?.since, self.waiting.since) }

    /// The time at which the recorder must call ``timerFired(now:)`` and ``next(through:connection:isDue:now:)``; `nil`
    /// for no such time.
    var nextDeadline: MonotonicTime? {
        switch self.storing {
        case .idle: self.waiting.since?.advanced(by: RecorderConfiguration.longestWait)
        case .busy(let attempt): attempt.overdueAt
        case .waiting(_, let until): until
        }
    }

    /// Adds a received message to the page that is given to the store next. A message that cannot be decoded is
    /// quarantined there.
    mutating func add(_ message: IncomingMessage, receivedAt: UnixTime, now: MonotonicTime) {
        self.waiting.add(message, root: self.root, receivedAt: receivedAt, now: now)
    }

    /// Adds an entry to the quarantine that says that messages may be missing, because the broker had kept no session.
    mutating func addPossibleGap(at moment: Moment) {
        let note = RefusedMessage(
            topic: self.root.path, receivedAt: moment.wall, reason: RefusedMessage.possibleGapReason, payload: [])
        self.waiting.add(note, now: moment.now)
    }

    /// Gives the waiting messages to the store if the store is idle and the messages are due.
    ///
    /// They are due when they fill a page, or when the first one has waited ``RecorderConfiguration/longestWait``.
    ///
    /// - Parameters:
    ///   - through: The number of messages that were received on the present intake connection.
    ///   - connection: The number of the present intake connection.
    ///   - isDue: `true` if the messages are due in any case: the recorder is stopping, or the previous page was stored
    ///     just now.
    mutating func next(through: Int, connection: Int, isDue: Bool, now: MonotonicTime) -> [Action] {
        guard case .idle = self.storing, let since = self.waiting.since else { return [] }
        guard
            isDue || self.waiting.isFull(of: self.window)
                || since.duration(to: now) >= RecorderConfiguration.longestWait
        else { return [] }
        var page = self.waiting
        page.through = through
        page.connection = connection
        page.awaited = page.batch.awaited
        self.waiting = RecorderPage()
        self.storing = .busy(Attempt(page: page, since: now))
        return [.store(page.batch)]
    }

    /// Handles that the history store has stored durably the batch that it was given last.
    ///
    /// - Parameter acknowledgements: The acknowledgements of the batch, by trackable.
    mutating func stored(_ acknowledgements: [TrackableID: Acknowledgement], now: MonotonicTime) -> Progress {
        guard case .busy(var attempt) = self.storing else { return .none }
        guard attempt.page.stored(acknowledgements) else {
            self.storing = .busy(attempt)
            return .part(attempt.page.batch)
        }
        self.storing = .idle
        let wasAway = attempt.backoff.failures > 0 || attempt.isOverdue
        return .page(attempt.page, outage: wasAway ? attempt.since.duration(to: now) : nil)
    }

    /// Handles that the history store has not stored the batch that it was given last.
    ///
    /// A batch that the store rejects again and again is halved, until the rejected record is alone. After any other
    /// error, the same batch is stored after a wait.
    mutating func failed(_ error: TrackingError, now: MonotonicTime) -> [Action] {
        guard case .busy(var attempt) = self.storing else { return [] }
        if error.code == .storeRefused {
            let refusal = attempt.page.refused(error, root: self.root)
            if refusal != .tryAgain {
                self.storing = .busy(attempt)
                return (refusal == .search ? [.deliver(.storeRefuses(error))] : []) + [.store(attempt.page.batch)]
            }
        }
        let wait = attempt.backoff.next()
        self.storing = .waiting(attempt, until: now.advanced(by: wait))
        return [.deliver(.storeAway(error, retry: wait))]
    }

    /// Discards all messages, because the history store can never be used. The broker keeps the messages, because they
    /// are not acknowledged.
    mutating func discardAll() { (self.storing, self.waiting) = (.idle, RecorderPage()) }

    /// Handles that the time ``nextDeadline`` has come. If the wait after a failed write is over, gives the batch to
    /// the store again. If the store is still busy with a batch, reports that it does not answer. The call has no
    /// effect before that time.
    mutating func timerFired(now: MonotonicTime) -> [Action] {
        guard let deadline = self.nextDeadline, deadline <= now else { return [] }
        switch self.storing {
        case .idle: return []
        case .waiting(let attempt, _):
            self.storing = .busy(attempt)
            return [.store(attempt.page.batch)]
        case .busy(var attempt):
            attempt.isOverdue = true
            self.storing = .busy(attempt)
            let error = TrackingError(
                .storeFailed,
                "cannot store messages: the history store has not answered for \(RecorderConfiguration.longestCommit). Check the disk or the database server"
            )
            return [.deliver(.storeAway(error, retry: nil))]
        }
    }
}
