package import NIOCore
import Synchronization
package import TrackingCore

/// One live stream over HTTP: its updates that wait to be written, and the reason for its end.
///
/// The gateway's hub adds updates for all streams. One task for each stream writes them to the client.
package final class LiveStream: Sendable {
    /// The reason for the end of a live stream. A client that is still connected receives it in the last event.
    package enum Ending: String, Hashable, Sendable {
        /// The client closed its connection. No last event is written.
        case closed
        /// The client reads too slowly: its waiting updates exceeded their limits.
        case tooSlow = "too-slow"
        /// The caller's token, share link or session is no longer valid.
        case expired
        /// The caller may read other trackables than before. A client that connects again receives their data.
        case changed
        /// The gateway is shutting down.
        case shutdown
    }

    /// The next thing that the task of a live stream must write to its client.
    package enum Step: Hashable, Sendable {
        /// Write these updates to the client, in order.
        case updates([LiveUpdate])
        /// Write this event `cells` to the client.
        case cells(ByteBuffer)
        /// Write a heartbeat, because its time has come and no update waits. If `canResume` is `true`, it contains the
        /// event id from which the client can resume the stream.
        case heartbeat(LiveEventID, canResume: Bool)
        /// Write the reason for the end to the client, and end the stream.
        case ended(Ending)
    }

    private struct State {
        /// The updates with which the live stream begins. The list is empty once the stream's task has taken them to
        /// write them to the client.
        var opening: [LiveUpdate]
        var queue = LiveQueue()
        /// The event `cells` that waits to be written, before the updates.
        var cells: ByteBuffer?
        /// `true` while the client has counts of cells instead of positions. It cannot resume from them.
        var hasCounts = false
        var heartbeat: LiveEventID?
        var ending: Ending?
        /// The time at which the connection is closed if the client has not read the rest of the ended stream by then.
        /// `nil` until ``LiveStream/check(at:)`` finds that the stream has ended.
        var cut: MonotonicTime?
        var waiter: CheckedContinuation<Void, Never>?

        /// Returns the next thing to write to the client of the live stream: the end, the counts of cells, the first
        /// updates, the waiting updates or a heartbeat, in this order of priority. Removes what it returns, except the end. `nil` if nothing
        /// waits to be written.
        mutating func take() -> Step? {
            if let ending = self.ending { return .ended(ending) }
            if let cells = self.cells.take() { return .cells(cells) }
            if !self.opening.isEmpty {
                defer { self.opening = [] }
                return .updates(self.opening)
            }
            if self.queue.count > 0 { return .updates(self.queue.takeAll()) }
            let canResume = !self.hasCounts
            return self.heartbeat.take().map { .heartbeat($0, canResume: canResume) }
        }

        /// `true` if an update or an event `cells` waits to be written.
        var hasUpdates: Bool { self.cells != nil || !self.opening.isEmpty || self.queue.count > 0 }

        /// `true` if nothing waits to be written: no update, no heartbeat and no end.
        var isIdle: Bool { self.ending == nil && !self.hasUpdates && self.heartbeat == nil }
    }

    /// The random id of the live stream.
    package let id: LiveStreamID
    /// The caller (authenticated sender of the HTTP request) that reads the live stream.
    package let caller: Caller
    /// The time at which the live stream was opened, by the gateway's wall clock.
    package let opened: UnixTime
    /// The trackables and positions that the stream shows.
    package let selection: LiveSelection
    /// The time from which the stream must read the history, to replace updates that its interrupted client missed.
    /// `nil` if the gateway still has all missed updates in memory, or if the client had no earlier stream.
    package let gap: UnixTime?
    /// The updates that report cleared positions and that the client missed during its interruption. The client
    /// receives them first, before the history, and discards the earlier positions of these trackables.
    package let cleared: [LiveUpdate]
    /// `true` if the client must discard its earlier data, because they came from another run of the gateway, or the
    /// gateway's clock was set back since the interruption.
    package let isAnew: Bool
    /// `true` if a client that reconnects keeps its earlier data. The stream then adds to these data.
    package let isResumed: Bool
    private let state: Mutex<State>
    private let cut: @Sendable () -> Void

    /// Creates a live stream for one caller, with the updates to write first.
    ///
    /// - Parameters:
    ///   - opening: The updates with which the stream begins: the current state, or the updates since an interruption.
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

    /// Adds an update to the updates that wait to be written.
    ///
    /// - Returns: The number of lost updates: 0, or the number of all waiting updates if these updates exceed the
    ///   limits of the queue. In the second case the stream ends with the reason `tooSlow`.
    func deliver(_ update: LiveUpdate) -> Int {
        let lost = self.state.withLock { state in
            guard state.ending == nil else { return 0 }
            state.heartbeat = nil
            return state.queue.append(update) ? 0 : state.queue.takeAll().count
        }
        if lost > 0 { self.end(.tooSlow) } else { self.wake() }
        return lost
    }

    /// `true` while the client has counts of cells instead of positions.
    var hasCounts: Bool { self.state.withLock { $0.hasCounts } }

    /// `true` if the client has read the previous event `cells`, and the updates with which the stream begins.
    var acceptsCells: Bool { self.state.withLock { $0.cells == nil && $0.opening.isEmpty } }

    /// Replaces all updates that wait to be written by an event `cells`.
    ///
    /// - Parameter updates: The current state of the trackables, if the stream has positions from now on; `nil` if it
    ///   has counts.
    func show(_ cells: ByteBuffer, then updates: [LiveUpdate]? = nil) {
        self.state.withLock { state in
            guard state.ending == nil else { return }
            state.heartbeat = nil
            state.queue = LiveQueue()
            (state.cells, state.opening) = (cells, updates ?? [])
            state.hasCounts = updates == nil
        }
        self.wake()
    }

    /// Adds a heartbeat if no update waits to be written. The new heartbeat replaces a heartbeat that is not written
    /// yet.
    func beat(_ id: LiveEventID) {
        self.state.withLock { state in
            guard state.ending == nil, !state.hasUpdates else { return }
            state.heartbeat = id
        }
        self.wake()
    }

    /// Ends the live stream with a reason. The reason of the first call counts; later calls do not change it. With the
    /// reason `tooSlow`, the connection is closed at once, because the client would not read the reason.
    package func end(_ ending: Ending) {
        self.state.withLock { $0.ending = $0.ending ?? ending }
        self.wake()
        if ending == .tooSlow { self.cut() }
    }

    /// `true` once the live stream has ended, for any reason.
    var isOver: Bool { self.state.withLock { $0.ending != nil } }

    /// The time that a client has to read the rest of an ended stream: 5 s. After this time, the client's connection is
    /// closed.
    static let grace = Duration.seconds(5)

    /// Ends the stream when the time span of its share link is over. If the stream ended earlier, for any reason,
    /// closes the connection of a client that has not read the end within ``grace``. Such a connection may still
    /// contain data that the client may no longer read.
    ///
    /// - Returns: The time of the next check; `nil` if none is necessary.
    func check(at moment: Moment) -> MonotonicTime? {
        let end = self.selection.span?.upperBound
        if let end, moment.wall >= end { self.end(.expired) }
        let (due, isOverdue) = self.state.withLock { state -> (MonotonicTime?, Bool) in
            guard state.ending != nil else { return (nil, false) }
            let due = state.cut ?? moment.now.advanced(by: Self.grace)
            state.cut = due
            return (due, moment.now >= due)
        }
        if isOverdue { self.cut() }
        guard due == nil else { return isOverdue ? nil : due }
        return end.map { moment.now.advanced(by: $0.since(moment.wall)) }
    }

    /// Waits until there is something to write to the client, and returns the next thing to write. Only one task may
    /// call this function. Cancelling the task ends the stream.
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
