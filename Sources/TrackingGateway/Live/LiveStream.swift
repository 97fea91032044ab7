import Synchronization
package import TrackingCore

/// One stream at the hub: its queue and its ending. The hub adds updates, and one task writes them.
package final class LiveStream: Sendable {
    /// The reason for a stream's end, which its reader receives.
    package enum Ending: String, Hashable, Sendable {
        /// The reader went away.
        case closed
        /// The queue is over its limits.
        case tooSlow = "too-slow"
        /// The caller's access is over.
        case expired
        /// The gateway is shutting down.
        case shutdown
    }

    /// The next thing to write.
    package enum Step: Hashable, Sendable {
        /// These updates, in order.
        case updates([LiveUpdate])
        /// A heartbeat after a quiet time, with the stream's position.
        case heartbeat(LiveEventID)
        /// The stream ended.
        case ended(Ending)
    }

    private struct State {
        /// The first updates.
        var opening: [LiveUpdate]
        var queue = LiveQueue()
        var heartbeat: LiveEventID?
        var ending: Ending?
        /// The time by which the reader must take the end; `nil` until ``LiveStream/check(at:)`` finds the end.
        var cut: MonotonicTime?
        var waiter: CheckedContinuation<Void, Never>?

        /// Removes and returns the next step; `nil` if there is nothing to write.
        mutating func take() -> Step? {
            if let ending = self.ending { return .ended(ending) }
            if !self.opening.isEmpty {
                defer { self.opening = [] }
                return .updates(self.opening)
            }
            if self.queue.count > 0 { return .updates(self.queue.takeAll()) }
            return self.heartbeat.take().map { .heartbeat($0) }
        }

        /// `true` if there is nothing to write.
        var isIdle: Bool {
            self.ending == nil && self.opening.isEmpty && self.queue.count == 0 && self.heartbeat == nil
        }
    }

    /// The stream's id.
    package let id: LiveStreamID
    /// The caller that reads the stream.
    package let caller: Caller
    /// The time at which the stream was opened.
    package let opened: UnixTime
    /// The updates that belong to the stream.
    package let selection: LiveSelection
    /// The time from which the reader needs the history; `nil` if nothing is missing.
    package let gap: UnixTime?
    /// The clearings that the reader receives before the missed records.
    package let cleared: [LiveUpdate]
    /// `true` if the reader has data of another run of the gateway, which it must discard.
    package let isAnew: Bool
    /// `true` if the reader's earlier data remain valid, and the stream delivers only the missed updates.
    package let isResumed: Bool
    private let state: Mutex<State>
    private let cut: @Sendable () -> Void

    /// - Parameters:
    ///   - opening: The first updates.
    ///   - cut: Closes the connection of a reader that does not read.
    init(
        id: LiveStreamID, caller: Caller, selection: LiveSelection, opened: UnixTime, opening: LiveHubState.Opening,
        cut: @escaping @Sendable () -> Void
    ) {
        switch opening {
        case .snapshot(let updates):
            (self.gap, self.cleared, self.isAnew, self.isResumed) = (nil, [], false, false)
            self.state = Mutex(State(opening: updates))
        case .resumed(let updates):
            (self.gap, self.cleared, self.isAnew, self.isResumed) = (nil, [], false, true)
            self.state = Mutex(State(opening: updates))
        case .gap(let since, let isOfAnother, let cleared, let updates):
            // If the clock was set back since, the gap is unknown.
            let isAnew = isOfAnother || since > opened.advanced(by: GapReader.disorder)
            (self.gap, self.cleared, self.isAnew, self.isResumed) = (since, cleared, isAnew, !isAnew)
            self.state = Mutex(State(opening: updates))
        }
        self.opened = opened
        self.id = id
        self.caller = caller
        self.selection = selection
        self.cut = cut
    }

    /// Adds an update to the queue.
    ///
    /// - Returns: The number of updates that are lost because the queue is over its limits; the stream ends then.
    func deliver(_ update: LiveUpdate) -> Int {
        let lost = self.state.withLock { state in
            guard state.ending == nil else { return 0 }
            state.heartbeat = nil
            return state.queue.append(update) ? 0 : state.queue.takeAll().count
        }
        if lost > 0 { self.end(.tooSlow) } else { self.wake() }
        return lost
    }

    /// Queues a heartbeat if the stream is idle.
    func beat(_ id: LiveEventID) {
        self.state.withLock { $0.heartbeat = $0.isIdle ? id : nil }
        self.wake()
    }

    /// Ends the stream; the first ending counts. The connection of a reader that is too slow is closed, because such a
    /// reader would not receive the end.
    package func end(_ ending: Ending) {
        self.state.withLock { $0.ending = $0.ending ?? ending }
        self.wake()
        if ending == .tooSlow { self.cut() }
    }

    /// `true` once the stream has ended.
    var isOver: Bool { self.state.withLock { $0.ending != nil } }

    /// The time in which a reader must take the end.
    static let grace = Duration.seconds(5)

    /// Ends the stream when its span is over. A reader that has not taken an end within ``grace`` may still have unread
    /// data that it may no longer read, so its connection is closed.
    ///
    /// - Returns: The time of the next check; `nil` if none is due.
    func check(at moment: Moment) -> MonotonicTime? {
        if let end = self.selection.span?.upperBound {
            guard moment.wall >= end else { return moment.now.advanced(by: end.since(moment.wall)) }
            self.end(.expired)
        }
        let (due, isOverdue) = self.state.withLock { state -> (MonotonicTime?, Bool) in
            guard state.ending != nil else { return (nil, false) }
            let due = state.cut ?? moment.now.advanced(by: Self.grace)
            state.cut = due
            return (due, moment.now >= due)
        }
        if isOverdue { self.cut() }
        return isOverdue ? nil : due
    }

    /// Waits for the next step and returns it. Only one task may call this method.
    package func next() async -> Step {
        await withTaskCancellationHandler {
            while true {
                if let step = self.state.withLock({ $0.take() }) { return step }
                await self.wait()
            }
        } onCancel: {
            self.end(.closed)
        }
    }

    private func wait() async {
        await withCheckedContinuation { continuation in
            let isReady = self.state.withLock { state in
                guard state.isIdle else { return true }
                precondition(state.waiter == nil, "a stream is for one task")
                state.waiter = continuation
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    private func wake() {
        self.state.withLock { $0.waiter.take() }?.resume()
    }
}
