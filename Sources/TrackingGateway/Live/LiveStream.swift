import Synchronization
package import TrackingCore

/// One stream's place at the hub: what waits for it, and why it ended. The hub tells it, one task takes out.
package final class LiveStream: Sendable {
    /// Why a stream ended, as its reader is told.
    package enum Ending: String, Hashable, Sendable {
        /// The reader went away.
        case closed
        /// Too much waits for it.
        case tooSlow = "too-slow"
        /// What let it read is over.
        case expired
        /// The gateway ends.
        case shutdown
    }

    /// What is to be written next.
    package enum Step: Hashable, Sendable {
        /// These, in order.
        case updates([LiveUpdate])
        /// Nothing was told for a while; so far it is.
        case heartbeat(LiveEventID)
        /// Nothing more comes.
        case ended(Ending)
    }

    private struct State {
        /// What it begins with.
        var opening: [LiveUpdate]
        var queue = LiveQueue()
        var heartbeat: LiveEventID?
        var ending: Ending?
        /// How many seconds passed since it ended.
        var secondsOver = 0
        var waiter: CheckedContinuation<Void, Never>?

        /// What is to be written next; `nil` where nothing is.
        mutating func take() -> Step? {
            if let ending = self.ending { return .ended(ending) }
            if !self.opening.isEmpty {
                defer { self.opening = [] }
                return .updates(self.opening)
            }
            if self.queue.count > 0 { return .updates(self.queue.takeAll()) }
            return self.heartbeat.take().map { .heartbeat($0) }
        }

        /// Whether nothing is to be written.
        var isIdle: Bool {
            self.ending == nil && self.opening.isEmpty && self.queue.count == 0 && self.heartbeat == nil
        }
    }

    /// Its name.
    package let id: LiveStreamID
    /// Who reads it.
    package let caller: Caller
    /// When it was opened.
    package let opened: UnixTime
    /// What it is about.
    package let selection: LiveSelection
    /// Since when it misses what only the history has; `nil` where it misses nothing.
    package let gap: UnixTime?
    /// What its reader is to forget before it is told what it missed.
    package let cleared: [LiveUpdate]
    /// Whether its reader knows things of another life of the gateway, which are to be forgotten.
    package let isAnew: Bool
    /// Whether what its reader was told before still counts: what comes is what was missed, not all that there is.
    package let isResumed: Bool
    private let state: Mutex<State>
    private let cut: @Sendable () -> Void

    /// - Parameters:
    ///   - opening: What it begins with.
    ///   - cut: Closes the connection of a reader that takes nothing.
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
            // By a clock that was set back since, nobody knows what was missed.
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

    /// Adds what the stream is about.
    ///
    /// - Returns: The number of updates that are lost because too much waits; the stream ends then.
    func tell(_ update: LiveUpdate) -> Int {
        let lost = self.state.withLock { state in
            guard state.ending == nil else { return 0 }
            state.heartbeat = nil
            return state.queue.append(update) ? 0 : state.queue.takeAll().count
        }
        if lost > 0 { self.end(.tooSlow) } else { self.wake() }
        return lost
    }

    /// Lets it say that it is alive, where nothing else waits.
    func beat(_ id: LiveEventID) {
        self.state.withLock { $0.heartbeat = $0.isIdle ? id : nil }
        self.wake()
    }

    /// Ends it; the first ending counts. A reader that takes nothing would not see it: its connection is closed.
    package func end(_ ending: Ending) {
        self.state.withLock { $0.ending = $0.ending ?? ending }
        self.wake()
        if ending == .tooSlow { self.cut() }
    }

    /// Whether nothing more is to be written but its end.
    var isOver: Bool { self.state.withLock { $0.ending != nil } }

    /// How many seconds a reader has to take the end.
    static let grace = 5

    /// A second passed. A reader that has not taken the end after ``grace`` has things before it that it may not read any more:
    /// its connection is closed.
    func tick() {
        let isOverdue = self.state.withLock { state in
            guard state.ending != nil else { return false }
            state.secondsOver += 1
            return state.secondsOver > Self.grace
        }
        if isOverdue { self.cut() }
    }

    /// What is to be written next; waits for it. For one task.
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
