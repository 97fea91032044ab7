package import TrackingCore
package import TrackingSinks

/// Decides what a forwarder does next for one sink: read the queue, send a batch, remove acknowledged points from the
/// queue, or wait.
///
/// A batch is sent until the sink acknowledges it, so no point is lost. After each failure the queue is read again: a
/// point that was erased meanwhile is not sent.
///
/// If the sink rejects a point because of its content, the point is left out, and the following points are sent. When
/// the sink acknowledges one of them, the points that were left out are sent once more, and those that are rejected again
/// are quarantined. Otherwise the fault may be the sink's: after several rejected points in a row, the forwarder waits,
/// and sends all of them again.
package struct ForwardStateMachine: Hashable, Sendable {
    /// An event in the forwarding to one sink.
    package enum Event: Hashable, Sendable {
        /// The queue was read.
        case read(Reading)
        /// The sink answered a batch, or no answer arrived.
        case answered(ForwardAnswer)
        /// The points were removed from the queue.
        case removed
        /// The history could not be read or written.
        case storeFailed
        /// The deadline of the last wait has come.
        case due
    }

    /// The content of the queue's next page.
    package enum Reading: Hashable, Sendable {
        /// The queue has no points.
        case empty
        /// None of the page's points is to be sent.
        case nothingToSend
        /// The page has points to send.
        case points
        /// The page has one point, which the sink rejected before it acknowledged a later point.
        case repeatedPoint
    }

    /// The next step of the forwarder.
    package enum Action: Hashable, Sendable {
        /// Read at most this number of points from the queue.
        case read(limit: Int)
        /// Send the points that were read.
        case send
        /// Remove the points of the acknowledged batch, and those that are not to be sent, from the queue.
        case remove
        /// Remove points as ``remove`` does, and read the points that were left out again.
        case removeAndRepeat
        /// Quarantine the point that the sink rejected again.
        case quarantine
        /// Wait until a moment, and then report that it has come.
        case wait(until: MonotonicTime)
        /// End: the queue is empty, and the forwarder is to end then.
        case end
        /// End with an error: the sink rejects points, and acknowledges no later one that would show that it works.
        case giveUp
    }

    /// The largest number of points in a batch.
    package let batchSize: Int
    /// `true` for a forwarder that ends when the queue is empty.
    package let endsWhenEmpty: Bool
    /// The largest number of points in the next batch.
    package private(set) var limit: Int
    private var backoff = Backoff(first: .seconds(1), maximum: Self.longestWait)

    /// The time between two readings of an empty queue: 1 s.
    package static let pollInterval = Duration.seconds(1)
    /// The longest wait after a failure: 5 minutes. A wait that the sink requests may be longer.
    package static let longestWait = Duration.seconds(300)

    /// Makes the state before the first step.
    ///
    /// - Parameters:
    ///   - batchSize: The largest number of points in a batch, ≥ 1.
    ///   - endsWhenEmpty: `true` for a forwarder that ends when the queue is empty.
    package init(batchSize: Int, endsWhenEmpty: Bool) {
        self.batchSize = batchSize
        self.endsWhenEmpty = endsWhenEmpty
        self.limit = batchSize
    }

    /// The first step of the forwarder.
    package var first: Action { .read(limit: self.limit) }
    /// The number of failures in a row.
    package var failures: Int { self.backoff.failures }
    /// The unfinished removal of acknowledged points from the queue; `nil` for none. They are not sent again.
    private var removal: Action?
    /// The number of rejected points that are left out of the next readings of the queue. After a wait for a sink that
    /// rejects everything, none is left out.
    package private(set) var leftOut = 0
    /// The largest number of points that are left out in a row. It doubles each time that it is reached.
    private var maximumLeftOut = Self.firstLeftOut
    /// `true` if the last page was a point that the sink has rejected before.
    private var isRepeated = false

    /// The first limit of points that are left out in a row: 10.
    static let firstLeftOut = 10
    /// The highest limit of points that are left out in a row: 1,000.
    static let maximumLeftOut = 1000

    /// Handles an event, and returns the next step.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - now: The time of the event.
    package mutating func happened(_ event: Event, at now: MonotonicTime) -> Action {
        switch event {
        case .read(.empty): return self.readAll(at: now)
        case .read(.nothingToSend): return .remove
        case .read(.points), .read(.repeatedPoint):
            self.isRepeated = event == .read(.repeatedPoint)
            return .send
        case .answered(let answer): return self.answered(answer, at: now)
        case .removed:
            if self.removal == .removeAndRepeat { self.leftOut = 0 }
            self.removal = nil
            return .read(limit: self.limit)
        case .due: return self.removal ?? .read(limit: self.limit)
        case .storeFailed: return .wait(until: now.advanced(by: Self.pollInterval))
        }
    }

    private mutating func answered(_ answer: ForwardAnswer, at now: MonotonicTime) -> Action {
        switch answer.verdict {
        case .acknowledged:
            self.backoff.reset()
            self.maximumLeftOut = Self.firstLeftOut
            self.limit = min(self.batchSize, self.limit * 2)
            return self.remove(self.leftOut > 0 ? .removeAndRepeat : .remove)
        case .rejectedContent where self.isRepeated: return self.remove(.quarantine)
        case .rejectedContent(let count) where count > 1:
            // A smaller batch finds the points that the sink accepts.
            self.limit = max(1, count / 2)
            return .read(limit: self.limit)
        case .rejectedContent where self.leftOut < self.maximumLeftOut:
            self.leftOut += 1
            return .read(limit: self.limit)
        case .rejectedContent where self.endsWhenEmpty && self.maximumLeftOut == Self.maximumLeftOut: return .giveUp
        case .rejectedContent: return self.block(at: now, for: answer.requestedWait)
        case .failed:
            return .wait(until: now.advanced(by: max(self.backoff.next(), answer.requestedWait)))
        }
    }

    private mutating func remove(_ action: Action) -> Action {
        self.removal = action
        return action
    }

    /// Handles that the queue has no points but those that are left out.
    private mutating func readAll(at now: MonotonicTime) -> Action {
        guard self.leftOut > 0 else {
            return self.endsWhenEmpty ? .end : .wait(until: now.advanced(by: Self.pollInterval))
        }
        // No later point will come that could show that the sink works.
        return self.endsWhenEmpty ? .giveUp : self.block(at: now, for: .zero)
    }

    /// Waits, and sends the points that were left out again, because the fault may be the sink's.
    private mutating func block(at now: MonotonicTime, for wait: Duration) -> Action {
        self.leftOut = 0
        self.maximumLeftOut = min(Self.maximumLeftOut, self.maximumLeftOut * 2)
        return .wait(until: now.advanced(by: max(self.backoff.next(), wait)))
    }
}
