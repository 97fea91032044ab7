import Synchronization
package import TrackingCore

/// One live stream of the hub: its waiting updates and its end. The hub adds updates, and one task writes them to the
/// client.
package final class LiveStream: Sendable {
    /// The reason for the end of a live stream, which its client receives.
    package enum Ending: String, Hashable, Sendable {
        /// The client closed its connection.
        case closed
        /// The client reads too slowly: its waiting updates exceeded their limits.
        case tooSlow = "too-slow"
        /// The caller's token or share link is no longer valid.
        case expired
        /// The gateway is shutting down.
        case shutdown
    }

    /// The next part of a live stream to write.
    package enum Step: Hashable, Sendable {
        /// Write these updates, in order.
        case updates([LiveUpdate])
        /// Write a heartbeat after a quiet time, with the stream's position.
        case heartbeat(LiveEventID)
        /// Write the reason for the end, and end the stream.
        case ended(Ending)
    }

    private struct State {
        /// The first updates of the stream that are not written yet.
        var opening: [LiveUpdate]
        var queue = LiveQueue()
        var heartbeat: LiveEventID?
        var ending: Ending?
        /// The time by which the reader must take the end; `nil` until ``LiveStream/check(at:)`` finds the end.
        var cut: MonotonicTime?
        var waiter: CheckedContinuation<Void, Never>?

        /// Removes and returns the next part of the stream to write; `nil` if there is none.
        mutating func take() -> Step? {
            if let ending = self.ending { return .ended(ending) }
            if !self.opening.isEmpty {
                defer { self.opening = [] }
                return .updates(self.opening)
            }
            if self.queue.count > 0 { return .updates(self.queue.takeAll()) }
            return self.heartbeat.take().map { .heartbeat($0) }
        }

        /// `true` if nothing of the stream waits to be written.
        var isIdle: Bool {
            self.ending == nil && self.opening.isEmpty && self.queue.count == 0 && self.heartbeat == nil
        }
    }

    /// The random id of the live stream.
    package let id: LiveStreamID
    /// The caller that reads the live stream.
    package let caller: Caller
    /// The time at which the live stream was opened, by the gateway's wall clock.
    package let opened: UnixTime
    /// The trackables and positions that the stream shows.
    package let selection: LiveSelection
    /// The time from which the client needs the history; `nil` if the hub has all updates that the client missed.
    package let gap: UnixTime?
    /// The clearings of positions that the client receives before the records that it missed.
    package let cleared: [LiveUpdate]
    /// `true` if the client has data of another run of the gateway, which it must discard.
    package let isAnew: Bool
    /// `true` if the client's earlier data remain valid, so that the stream delivers only the updates that the client
    /// missed.
    package let isResumed: Bool
    private let state: Mutex<State>
    private let cut: @Sendable () -> Void

    /// Creates a live stream.
    ///
    /// - Parameters:
    ///   - opening: The first updates of the stream.
    ///   - cut: Closes the connection of a client that does not read.
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
            // If the gateway's clock was set back since the interruption, the length of the gap is unknown.
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

    /// Adds an update that waits to be written.
    ///
    /// - Returns: The number of updates that are lost because too many wait; the stream ends then.
    func deliver(_ update: LiveUpdate) -> Int {
        let lost = self.state.withLock { state in
            guard state.ending == nil else { return 0 }
            state.heartbeat = nil
            return state.queue.append(update) ? 0 : state.queue.takeAll().count
        }
        if lost > 0 { self.end(.tooSlow) } else { self.wake() }
        return lost
    }

    /// Adds a heartbeat if nothing else waits to be written.
    func beat(_ id: LiveEventID) {
        self.state.withLock { $0.heartbeat = $0.isIdle ? id : nil }
        self.wake()
    }

    /// Ends the live stream. Only the first call has an effect on the reason. The connection of a client that reads too
    /// slowly is closed, because it would not receive the reason.
    package func end(_ ending: Ending) {
        self.state.withLock { $0.ending = $0.ending ?? ending }
        self.wake()
        if ending == .tooSlow { self.cut() }
    }

    /// `true` once the live stream has ended.
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

    /// Waits for the next part of the stream to write, and returns it. Only one task may call this function.
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
