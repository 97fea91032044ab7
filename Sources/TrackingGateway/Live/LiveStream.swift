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
        var queue = LiveQueue()
        var heartbeat: LiveEventID?
        var ending: Ending?
        var waiter: CheckedContinuation<Void, Never>?
    }

    /// Its name.
    package let id: LiveStreamID
    /// Who reads it.
    package let caller: Caller
    /// When it was opened.
    package let opened: UnixTime
    /// What it is about.
    package let selection: LiveSelection
    private let state = Mutex(State())
    private let cut: @Sendable () -> Void

    /// - Parameter cut: Closes the connection of a reader that takes nothing.
    init(
        id: LiveStreamID, caller: Caller, selection: LiveSelection, opened: UnixTime,
        cut: @escaping @Sendable () -> Void
    ) {
        self.opened = opened
        self.id = id
        self.caller = caller
        self.selection = selection
        self.cut = cut
    }

    /// Adds what the stream is about.
    func tell(_ update: LiveUpdate) {
        let isOverfull = self.state.withLock { state in
            guard state.ending == nil else { return false }
            state.heartbeat = nil
            return !state.queue.append(update)
        }
        if isOverfull { self.end(.tooSlow) } else { self.wake() }
    }

    /// Lets it say that it is alive, where nothing else waits.
    func beat(_ id: LiveEventID) {
        self.state.withLock { $0.heartbeat = $0.queue.count == 0 ? id : nil }
        self.wake()
    }

    /// Ends it; the first ending counts. A reader that takes nothing would not see it: its connection is closed.
    package func end(_ ending: Ending) {
        self.state.withLock { $0.ending = $0.ending ?? ending }
        self.wake()
        if ending == .tooSlow { self.cut() }
    }

    /// What is to be written next; waits for it. For one task.
    package func next() async -> Step {
        await withTaskCancellationHandler {
            while true {
                if let step = self.take() { return step }
                await self.wait()
            }
        } onCancel: {
            self.end(.closed)
        }
    }

    private func take() -> Step? {
        self.state.withLock { state in
            if let ending = state.ending { return .ended(ending) }
            if state.queue.count > 0 { return .updates(state.queue.takeAll()) }
            return state.heartbeat.take().map { .heartbeat($0) }
        }
    }

    private func wait() async {
        await withCheckedContinuation { continuation in
            let isReady = self.state.withLock { state in
                guard state.ending == nil, state.queue.count == 0, state.heartbeat == nil else { return true }
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
