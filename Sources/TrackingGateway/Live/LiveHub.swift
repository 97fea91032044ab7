package import Logging
import ServiceLifecycle
import Synchronization
package import TrackingCore
import TrackingRuntime
package import TrackingStore
package import TrackingSubscriber

/// Delivers the updates that the gateway's subscriber receives from the broker to any number of live streams over HTTP.
/// The hub encodes each update once, and delivers it to every stream that shows it. It combines the streams' requests
/// for a resolution into one request for each trackable.
package final class LiveHub: Service {
    /// The data of the hub's tasks.
    struct Shared {
        var state: LiveHubState
        var pool = RequestPool()
        var streams: [LiveStreamID: LiveStream] = [:]
        /// The open live streams that show a fixed list of trackables, by each trackable of the list.
        var named: [TrackableID: [LiveStreamID: LiveStream]] = [:]
        /// The open live streams that have no list of trackables: they show every trackable, or those in a geographic
        /// area.
        var open: [LiveStreamID: LiveStream] = [:]
        /// The decisions between positions and counts of the open live streams with an area of cells. A stream with
        /// counts is not in ``open``.
        var views: [LiveStreamID: CellView] = [:]
        /// The number of live streams that were opened since the gateway started, including those that have ended.
        var openings = 0
        /// A counter that increases when a live stream with a time span was opened, and when the streams of a caller
        /// were ended. The loop that checks the deadlines of streams then checks them again before its next deadline.
        var deadlineChanges = 0
        var isFinished = false
    }

    /// The time between two heartbeats in a live stream: 15 s.
    package static let heartbeat = Duration.seconds(15)
    /// The largest number of open live streams.
    package static let maximumStreams = 20_000

    let shared: Mutex<Shared>
    private let events: AsyncStream<SubscriberEvent>
    let request: @Sendable (TrackableID, Resolution?) -> Void
    private let isSettled: @Sendable () -> Bool
    private let settling: @Sendable (MonotonicTime) async -> Bool
    private let overfull: @Sendable () -> Void
    private let cleared: @Sendable (TrackableID, Location?) -> Void
    private let dropped: @Sendable (Int) -> Void
    private let clockAhead: @Sendable () -> Void
    private let expect: @Sendable ([TrackableID]) -> Void
    private let timeSinceDrop: @Sendable () -> Duration?
    private let history: KeptHistory
    private let logger: Logger
    /// The signal that wakes the tasks in ``waitForStreams(until:for:)``, so that they evaluate their conditions again.
    /// It is sent after a live stream was opened, after the streams of a caller were ended, and by ``notifyWaiting()``.
    private let streamChanges = WakeSignal()
    /// The signal that wakes the tasks in ``hasJourney(_:of:until:)`` when a journey has arrived.
    private let journeyChanges = WakeSignal()
    let clock = DeviceClock()

    /// Creates a hub for live streams that has received no update yet.
    ///
    /// - Parameters:
    ///   - events: The subscriber's event stream.
    ///   - trackables: The largest number of trackables whose current state the hub has in memory. It is twice the
    ///     number that the subscriber watches at once.
    ///   - history: The history; `nil` for none.
    ///   - isSettled: Returns `true` if the subscriber receives everything that is published.
    ///   - settling: Waits until `isSettled` is `true`; returns `false` after the given deadline.
    ///   - overfull: Called when the subscriber ignores a trackable because it watches too many already.
    ///   - dropped: Receives the number of updates that a stream loses because its client reads too slowly.
    ///   - cleared: Receives the trackable whose position was cleared at the broker, and its last known position.
    ///   - clockAhead: Called for each point whose time is ahead of the gateway's clock by more than
    ///     ``LivePosition/maximumAhead``.
    ///   - expect: Receives the trackables that have a position in the history, so that the subscriber expects them.
    ///   - timeSinceDrop: Returns the time since the broker last dropped a message; `nil` if it dropped none.
    ///   - request: Requests a resolution from the publisher of a trackable, or withdraws the request (`nil`).
    package init(
        events: AsyncStream<SubscriberEvent>, trackables: Int = 20_000, history: (any HistoryStore)? = nil,
        logger: Logger = Logger(label: "godwit.live"),
        isSettled: @escaping @Sendable () -> Bool = { true },
        settling: @escaping @Sendable (MonotonicTime) async -> Bool = { _ in true },
        overfull: @escaping @Sendable () -> Void = {},
        dropped: @escaping @Sendable (Int) -> Void = { _ in },
        cleared: @escaping @Sendable (TrackableID, Location?) -> Void = { _, _ in },
        clockAhead: @escaping @Sendable () -> Void = {},
        expect: @escaping @Sendable ([TrackableID]) -> Void = { _ in },
        timeSinceDrop: @escaping @Sendable () -> Duration? = { nil },
        request: @escaping @Sendable (TrackableID, Resolution?) -> Void
    ) {
        self.shared = Mutex(Shared(state: LiveHubState(epoch: .random(in: .min ... .max), trackables: trackables)))
        self.events = events
        self.isSettled = isSettled
        self.settling = settling
        self.overfull = overfull
        self.dropped = dropped
        self.cleared = cleared
        self.clockAhead = clockAhead
        self.expect = expect
        self.timeSinceDrop = timeSinceDrop
        self.request = request
        self.history = KeptHistory(history, logger: logger)
        self.logger = logger
    }

    /// Delivers the subscriber's updates to the live streams until the subscriber ends, a graceful shutdown begins, or
    /// the task is cancelled. Then ends every live stream.
    package func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.tick() }
                group.addTask { await self.runCells() }
                group.addTask { self.expect(await self.history.located()) }
                for await event in self.events {
                    self.happened(event)
                    if case .positionsKept(let ids) = event {
                        group.addTask {
                            await self.forget(allBut: ids)
                            await self.forgetErased()
                        }
                    }
                }
                group.cancelAll()
            }
        }
        self.finish()
    }

    // MARK: - Streams

    /// `true` if another live stream can be opened: there are fewer than ``maximumStreams``, and the gateway is not
    /// shutting down.
    package var hasRoom: Bool {
        self.shared.withLock { !$0.isFinished && $0.streams.count < Self.maximumStreams }
    }

    /// Opens a live stream.
    ///
    /// - Parameters:
    ///   - selection: The trackables and positions that the stream shows.
    ///   - caller: The caller that reads the stream.
    ///   - last: The id of the last event that the client received on an earlier stream; `nil` for none.
    ///   - cut: A function that closes the client's connection.
    /// - Returns: The stream; `nil` if there are too many streams or the gateway is shutting down.
    package func open(
        _ selection: LiveSelection, for caller: Caller, after last: LiveEventID?, cut: @escaping @Sendable () -> Void
    ) -> LiveStream? {
        var generator = SystemRandomNumberGenerator()
        let id = LiveStreamID.random(using: &generator)
        let now = self.clock.moment.wall
        defer { self.streamChanges.notify() }
        return self.shared.withLock { shared in
            guard !shared.isFinished, shared.streams.count < Self.maximumStreams else { return nil }
            let (view, counts) = shared.firstCells(of: selection)
            let stream = LiveStream(
                id: id, caller: caller, selection: selection, opened: now,
                opening: counts == nil ? shared.state.opening(selection, after: last) : .snapshot([]), cut: cut)
            shared.streams[stream.id] = stream
            shared.openings += 1
            if selection.span != nil { shared.deadlineChanges += 1 }
            shared.views[stream.id] = view
            if let counts {
                stream.show(counts)
            } else if let named = selection.named {
                for id in named { shared.named[id, default: [:]][stream.id] = stream }
            } else {
                shared.open[stream.id] = stream
            }
            return stream
        }
    }

    /// Removes a live stream that has ended or whose client is gone, and withdraws the stream's resolution requests.
    package func close(_ stream: LiveStream) {
        stream.end(.closed)
        self.shared.withLock { shared in
            guard shared.streams.removeValue(forKey: stream.id) != nil else { return }
            shared.open[stream.id] = nil
            shared.views[stream.id] = nil
            for id in stream.selection.named ?? [] {
                shared.named[id]?[stream.id] = nil
                if shared.named[id]?.isEmpty == true { shared.named[id] = nil }
            }
            for change in shared.pool.ended(stream.id) { self.request(change.trackable, change.resolution) }
        }
    }

    /// The longest time that ``settled()`` waits until the subscriber receives everything that is published: 10 s.
    private static let patience = Duration.seconds(10)

    /// Waits until the subscriber receives everything that is published. Then it waits one more second, so that a
    /// recorder can store the updates before this moment. Returns at once if the subscriber already receives
    /// everything.
    ///
    /// - Returns: `true` if the subscriber receives everything within ten seconds; otherwise `false`.
    package func settled() async -> Bool {
        guard !self.isSettled() else { return true }
        guard await self.settling(self.clock.moment.now.advanced(by: Self.patience)) else { return false }
        return (try? await Task.sleep(for: Self.recorderLag)) != nil
    }

    /// The time after which a recorder is assumed to have stored an update: 1 s.
    private static let recorderLag = Duration.seconds(1)

    /// The number of trackables whose current state the hub has in memory.
    package var trackableCount: Int { self.shared.withLock { $0.state.trackables.count } }

    /// The number of open live streams.
    package var streamCount: Int { self.shared.withLock { $0.streams.count } }

    /// The functions by which the routes of the API read the current state of all trackables.
    package var liveState: LiveState {
        LiveState(
            known: { id in self.shared.withLock { $0.state.known(id) } },
            positions: { self.shared.withLock { $0.state.positions } },
            enhancements: { self.shared.withLock { $0.state.enhancements } },
            journeys: { self.shared.withLock { $0.state.journeys.journeys } },
            present: { self.shared.withLock { $0.state.present } },
            isConnected: { self.shared.withLock { $0.state.isConnected } }, timeSinceDrop: self.timeSinceDrop)
    }

    /// `true` if the broker dropped a message within the last ten minutes (``LiveState/dropMemory``).
    var isBrokerDropping: Bool { self.timeSinceDrop().map { $0 < LiveState.dropMemory } ?? false }

    /// The callers (authenticated senders of HTTP requests) that read the open live streams.
    package var callers: Set<Caller> {
        self.shared.withLock { shared in shared.streams.values.reduce(into: []) { $0.insert($1.caller) } }
    }

    /// Ends the live streams of a caller whose token, share link or session is no longer valid, or who may read other
    /// trackables than before.
    package func end(_ caller: Caller, as ending: LiveStream.Ending = .expired) {
        let streams = self.shared.withLock { shared in
            shared.deadlineChanges += 1
            return shared.streams.values.filter { $0.caller == caller }
        }
        for stream in streams { stream.end(ending) }
        self.streamChanges.notify()
    }

    /// The number of live streams that were opened since the gateway started, including those that have ended. A task
    /// that must check the callers of new streams compares it with an earlier value.
    var openings: Int { self.shared.withLock { $0.openings } }

    /// Waits until `condition` is `true` or the deadline has passed. The condition is evaluated again after a live
    /// stream was opened, after the streams of a caller were ended, and after ``notifyWaiting()``.
    func waitForStreams(until deadline: MonotonicTime?, for condition: () -> Bool) async {
        _ = await self.streamChanges.wait(until: deadline, for: condition)
    }

    /// Wakes the tasks in ``waitForStreams(until:for:)``, so that they evaluate their conditions again.
    func notifyWaiting() { self.streamChanges.notify() }

    // MARK: - What happens

    /// Handles an event of the subscriber: updates the hub's state, and delivers the update to the live streams. The
    /// hub's lock is held meanwhile, so that each stream receives all updates after its opening, in order.
    private func happened(_ event: SubscriberEvent) {
        if case .badMessage(_, let error) = event, error.code == .overloaded { self.overfull() }
        self.shared.withLock { self.deliver(event, to: &$0) }
        if case .journey = event { self.journeyChanges.notify() }
    }

    /// Waits until the hub has received a journey of a trackable, or that it was cleared (`nil`).
    ///
    /// - Returns: `true` if the trackable has this journey; `false` after the deadline.
    func hasJourney(_ journey: Journey?, of id: TrackableID, until deadline: MonotonicTime) async -> Bool {
        await self.journeyChanges.wait(until: deadline) {
            self.shared.withLock { $0.state.journeys[id].journey == journey }
        }
    }

    private func deliver(_ event: SubscriberEvent, to shared: inout Shared) {
        if case .locationCleared(let id) = event { self.cleared(id, shared.state.known(id)?.position) }
        if case .location(let id, let received) = event, !received.isLate {
            self.judge(received.update.location, of: id, in: &shared)
        }
        let dropped = shared.state.droppedJourneys
        defer { if dropped == 0, shared.state.droppedJourneys > 0 { self.warnOfDroppedJourneys() } }
        guard let update = shared.state.happened(event, at: self.clock.moment.wall) else { return }
        self.deliver(update, to: &shared)
    }

    private func warnOfDroppedJourneys() {
        self.logger.warning(
            "Journeys and estimates at the broker are too large together: the gateway does not show those that exceed its limit. Clear journeys that are over, with godwit journey clear",
            metadata: ["limit": "\(KnownJourneys.maximumBytes) bytes"])
    }

    /// Checks the time of a device's newest point, which arrived over HTTP. A time too far in the future means that the
    /// device's clock is ahead.
    package func received(_ point: Location, of id: TrackableID) {
        self.shared.withLock { self.judge(point, of: id, in: &$0) }
    }

    private func judge(_ point: Location, of id: TrackableID, in shared: inout Shared) {
        let judgement = shared.state.judge(point, of: id, at: self.clock.moment.wall)
        if let lead = judgement.lead {
            self.clockAhead()
            if judgement.isFirst {
                self.logger.warning(
                    "Clock of a device is ahead of the gateway's clock: the gateway does not show the device's positions live; recorders store them. Correct the clock that is wrong",
                    metadata: ["trackable": "\(id)", "seconds": "\(lead)"])
            }
        }
        if let update = judgement.update { self.deliver(update, to: &shared) }
    }

    private func deliver(_ update: LiveUpdate, to shared: inout Shared) {
        var lost = 0
        for stream in shared.open.values {
            for delivered in shared.state.delivered(update, to: stream.selection) { lost += stream.deliver(delivered) }
        }
        for stream in shared.named[update.trackable, default: [:]].values where stream.selection.wants(update) {
            lost += stream.deliver(update)
        }
        if lost > 0 { self.dropped(lost) }
    }

    /// Clears each live position that neither the broker nor the history has. A position that arrives during the check
    /// remains.
    ///
    /// - Parameter kept: The trackables with a retained position at the broker.
    private func forget(allBut kept: Set<TrackableID>) async {
        let missing = self.shared.withLock { $0.state.positions(except: kept) }
        for id in await self.history.gone(of: Array(missing.keys)) {
            // Compare and clear under one lock: a position received in between must not be cleared.
            self.shared.withLock { shared in
                guard shared.state.known(id)?.position == missing[id] else { return }
                self.deliver(.locationCleared(id), to: &shared)
            }
        }
    }

    /// Makes clients discard positions that were erased while the gateway was not connected to the broker. For each
    /// affected trackable, clears the live position and then delivers the last position again.
    private func forgetErased() async {
        let moved = self.shared.withLock { $0.state.takeMoved() }
        for id in await self.history.erased(of: moved) {
            self.shared.withLock { shared in
                for update in shared.state.beginAnew(id, at: self.clock.moment.wall) {
                    self.deliver(update, to: &shared)
                }
            }
        }
    }

    /// The shortest time between two checks of the deadlines of all streams. This pause limits the work when many
    /// streams are opened.
    static let pause = Duration.seconds(1)

    /// Performs the periodic work for all live streams until the task is cancelled. Ends streams whose share link has
    /// expired, closes the connections of clients that do not read the end of their stream, and sends heartbeats.
    private func tick() async {
        var nextBeat = self.clock.moment.now.advanced(by: Self.heartbeat)
        while !Task.isCancelled {
            let moment = self.clock.moment
            let isBeat = moment.now >= nextBeat
            if isBeat { nextBeat = moment.now.advanced(by: Self.heartbeat) }
            let (next, changes) = self.shared.withLock { shared in
                let id = shared.state.position(at: moment.wall)
                var next = nextBeat
                for stream in shared.streams.values {
                    if isBeat { stream.beat(id) }
                    if let deadline = stream.check(at: moment) { next = min(next, deadline) }
                }
                return (next, shared.deadlineChanges)
            }
            await self.waitForStreams(until: next) { self.shared.withLock { $0.deadlineChanges } != changes }
            await self.clock.sleep(until: moment.now.advanced(by: Self.pause))
        }
    }

    /// Ends all live streams and opens no more, because the gateway is shutting down.
    package func finish() {
        let streams = self.shared.withLock { shared in
            shared.isFinished = true
            return shared.streams.values.map(\.self)
        }
        for stream in streams { stream.end(.shutdown) }
    }
}
