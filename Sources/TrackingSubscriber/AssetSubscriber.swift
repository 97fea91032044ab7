public import Logging
public import ServiceLifecycle
public import TrackingCore
import Synchronization
import TrackingRuntime

/// Watches trackables over one connection to the broker. Delivers their positions in order, their states, and the
/// presence of their publishers. Requests resolutions from the publishers.
///
///     let subscriber = AssetSubscriber(configuration: configuration, transport: transport)
///     for await update in subscriber.locations(of: "van-7", requesting: .high(every: .seconds(1))) { print(update) }
///
/// A program that also needs states or events runs the subscriber itself:
///
///     subscriber.watch(try TrackableID("van-7"), requesting: resolution)
///     for await event in subscriber.events { print(event) }      // while subscriber.run() runs in another task
///
/// Network failures never throw. They appear in ``states(of:)``.
public final class AssetSubscriber<Transport: MessageTransport>: Service {
    package let configuration: SubscriberConfiguration
    private let transport: Transport
    let logger: Logger
    private let clock = DeviceClock()
    let mailbox = Mailbox<SubscriberStateMachine.Event>()
    private let deliveries = Broadcast<SubscriberEvent>(
        buffer: 65_536, bytes: 32 * 1_024 * 1_024, size: { $0.approximateBytes })
    private let bad: BadMessages
    let shared = Mutex(Shared())
    /// The signal that wakes the tasks in `settled(until:)` when the value of `isSettled` changes.
    private let settling = WakeSignal()

    struct Shared {
        var expected: [TrackableID: MonotonicTime] = [:]
        var failure: TrackingError?
        /// The calls of `publish`, `send` and `setJourney` that wait for the broker's answer to their message, by the
        /// number of the request.
        var publishing: [UInt64: AsyncStream<TrackingError?>.Continuation] = [:]
        var lastRequest: UInt64 = 0
        /// The calls of `knownPublishers(of:)` that wait for the answer, by the number of the request.
        var listing: [UInt64: AsyncStream<[KnownPublisher]>.Continuation] = [:]
        var hasBegun = false
        var hasEnded = false
        var isSettled = false
        var brokerDrops = BrokerDrops()
        var lastDropWarning: MonotonicTime?
        /// The number of open streams of `locations(of:preferring:requesting:)`, by trackable.
        var watches: [TrackableID: Int] = [:]
    }

    /// Creates a subscriber that watches no trackable yet.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the subscriber.
    ///   - transport: The connection to the broker. The subscriber runs and closes it.
    ///   - logger: The logger for refusals by the broker and for invalid messages.
    public init(
        configuration: SubscriberConfiguration, transport: Transport,
        logger: Logger = Logger(label: "godwit.subscriber")
    ) {
        self.configuration = configuration
        self.transport = transport
        self.logger = logger
        self.bad = BadMessages(logger: logger)
    }

    /// Watches a trackable: subscribes to its positions, trips, events and resolution, and to the presence of its
    /// publisher. The messages that the broker retains are delivered first.
    ///
    /// - Parameters:
    ///   - id: The trackable.
    ///   - resolution: The resolution to request from the trackable's publisher; `nil` requests none.
    ///   - kind: The kind of positions to deliver where both exist: published or enhanced. `nil` for that of the
    ///     configuration, which is always used with ``SubscriberConfiguration/watchesAll``.
    public func watch(
        _ id: TrackableID, requesting resolution: Resolution? = nil, preferring kind: PositionKind? = nil
    ) {
        self.mailbox.post(.watch(id, resolution, kind))
    }

    /// Stops watching a trackable. Clears the messages at the broker in which this subscriber requests a resolution of
    /// the trackable and announces its presence on it.
    public func unwatch(_ id: TrackableID) { self.mailbox.post(.unwatch(id)) }

    /// Informs the subscriber which trackables are known to have a position, for example from a history. The subscriber
    /// asks the broker again for the retained position of each that it has not received. Only a subscriber of all
    /// trackables (``SubscriberConfiguration/watchesAll``) does so.
    public func expect(_ ids: [TrackableID]) { self.mailbox.post(.expect(ids)) }

    /// Requests another resolution for a watched trackable from its publisher. `nil` withdraws the request.
    public func request(_ resolution: Resolution?, for id: TrackableID) { self.mailbox.post(.request(id, resolution)) }

    /// Requests an orderly stop. The subscriber withdraws its requests and presences, announces at the broker that it
    /// is offline, and closes the connection. Then ``run()`` returns.
    public func finish() { self.mailbox.post(.stop) }

    // MARK: - Events

    /// A new stream of the events of all watched trackables, in order, from now on.
    ///
    /// If the reader falls behind by more than 65,536 events or about 32 MB, the oldest of these events are lost (see
    /// ``lostEvents``). A slow reader of this stream does not delay other readers. See also ``everyEvent``.
    public var events: AsyncStream<SubscriberEvent> { self.deliveries.listen() }

    /// A new stream of all events, like ``events``, for a reader that must not lose any.
    ///
    /// While this reader is behind by 65,536 events or about 32 MB, the subscriber stops reading from the connection,
    /// and all other readers wait as well. A reader that was cancelled or released does not delay the others.
    public var everyEvent: AsyncStream<SubscriberEvent> { self.deliveries.listen(losingNothing: true) }

    /// Returns the positions of one trackable, from now on. Late positions are marked (``ReceivedUpdate/isLate``). The
    /// stream does not show that the broker's retained position was cleared; ``events`` shows it.
    public func locations(of id: TrackableID) -> some AsyncSequence<ReceivedUpdate, Never> & Sendable {
        self.events.compactMap { if case .location(id, let update) = $0 { update } else { nil } }
    }

    /// Returns the raw positions of one trackable, as the receiver measured them, from now on. Requires
    /// ``SubscriberConfiguration/wantsRaw``.
    public func rawLocations(of id: TrackableID) -> some AsyncSequence<ReceivedUpdate, Never> & Sendable {
        self.events.compactMap { if case .raw(id, let update) = $0 { update } else { nil } }
    }

    /// Returns the changes of this subscriber's state for one trackable (online, offline, stale or failed), from now
    /// on. The reason for a state is in ``events`` only.
    public func states(of id: TrackableID) -> some AsyncSequence<SubscriberState, Never> & Sendable {
        self.events.compactMap { if case .state(id, let state, _) = $0 { state } else { nil } }
    }

    /// Returns the changes of the presence of one trackable's publisher (present, absent or unknown) and of its text
    /// about the trackable, from now on.
    public func presence(of id: TrackableID) -> some AsyncSequence<PublisherPresence, Never> & Sendable {
        self.events.compactMap { if case .presence(id, let presence) = $0 { presence } else { nil } }
    }

    /// Returns the resolutions in force of one trackable, from now on: the accuracy and interval with which its
    /// publisher publishes.
    public func resolutions(of id: TrackableID) -> some AsyncSequence<ResolutionInForce, Never> & Sendable {
        self.events.compactMap { if case .resolution(id, let resolution?) = $0 { resolution } else { nil } }
    }

    /// Returns the current trip of one trackable, or its last one, from now on. Each newer version of the trip is
    /// delivered once.
    public func trips(of id: TrackableID) -> some AsyncSequence<Trip, Never> & Sendable {
        self.events.compactMap { if case .trip(id, let trip?) = $0 { trip } else { nil } }
    }

    /// Returns the tracking events of one trackable (such as a low battery), from now on.
    public func trackingEvents(of id: TrackableID) -> some AsyncSequence<TrackingEvent, Never> & Sendable {
        self.events.compactMap { if case .event(id, let event) = $0 { event } else { nil } }
    }

    /// Returns the time until the next position of a trackable is expected. The time is negative when that position is
    /// overdue, and `nil` if none is expected, for example without a publisher. A trackable that does not move may
    /// publish later.
    public func untilNextExpected(_ id: TrackableID) -> Duration? {
        let now = self.clock.moment.now
        return self.shared.withLock { $0.expected[id] }.map { now.duration(to: $0) }
    }

    /// `true` while the subscriber is connected and the broker has answered all its subscriptions. While the value is
    /// `true`, the subscriber receives every newly published message of the watched trackables whose subscriptions the
    /// broker granted.
    public var isSettled: Bool { self.shared.withLock { $0.isSettled } }

    /// Waits until ``isSettled`` is `true`: the subscriber is connected, and the broker has answered all its
    /// subscriptions.
    ///
    /// - Returns: `true` if ``isSettled`` is `true`; `false` after the deadline or when the task is cancelled.
    package func settled(until deadline: MonotonicTime) async -> Bool {
        await self.settling.wait(until: deadline) { self.isSettled }
    }

    /// The number of messages that the broker dropped, for any of its clients, while this subscriber was connected.
    /// Always zero without ``SubscriberConfiguration/readsBrokerDrops`` or without the right to read the broker's
    /// count.
    public var brokerDrops: BrokerDrops { self.shared.withLock { $0.brokerDrops } }

    /// The number of received messages that the subscriber skipped because they are invalid.
    public var badMessages: Int { self.bad.count }

    /// The number of events that slow readers lost, over all streams, because their buffers were full.
    public var lostEvents: Int { self.deliveries.lost }

    // MARK: - Running

    /// Runs the subscriber until ``finish()``, a graceful shutdown, or cancellation of the task. Call it once. Do not
    /// call it if `locations(of:preferring:requesting:)` is used, which runs the subscriber by itself.
    ///
    /// - Throws: `takenOver` when another program uses the client id; `invalidConfiguration` when the subscriber runs
    ///   or ran already; after the end, the broker's error if it rejected the name of a watched trackable as invalid.
    public func run() async throws {
        guard self.begins() else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot run the subscriber: it runs or ran already. Call run() once, and not with locations(of:preferring:requesting:)"
            )
        }
        try await self.runToEnd()
    }

    /// Registers that the subscriber begins to run. Returns `true` for the first call only; that caller must then run
    /// the subscriber.
    func begins() -> Bool {
        self.shared.withLock { shared in
            defer { shared.hasBegun = true }
            return !shared.hasBegun
        }
    }

    /// Runs the subscriber to its end. Call it once, after ``begins()`` has returned `true`.
    ///
    /// - Throws: `takenOver` when another program uses the client id; after the end, the broker's error if it rejected
    ///   the name of a watched trackable as invalid.
    func runToEnd() async throws {
        await withTaskExecutorPreference(self.transport.executor) { await self.work() }
        self.deliveries.finish()
        let publishing = self.shared.withLock { shared in
            shared.hasEnded = true
            defer { shared.publishing = [:] }
            for waiting in shared.listing.values { waiting.finish() }
            return shared.publishing.values
        }
        for waiting in publishing {
            waiting.yield(
                TrackingError(
                    .stopped,
                    "cannot publish the tracking event, command or journey: the subscriber ended before the broker answered. Make a new subscriber, then publish again"
                ))
        }
        if let failure = self.shared.withLock({ $0.failure }) { throw failure }
    }

    /// Runs the connection and the subscriber's state machine on the transport's executor, until the connection is
    /// closed.
    @concurrent
    private func work() async {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.transport.run() }
                group.addTask {
                    for await events in self.transport.events {
                        await self.mailbox.postAndWait(events) { .transport($0) }
                        await self.deliveries.caughtUp()
                    }
                    self.mailbox.close()
                }
                await self.decide(&group)
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.finish()
        }
    }

    /// Passes each event to the subscriber's state machine and performs the machine's actions, until the connection is
    /// closed for good. A lost connection does not end this method. The machine is a local variable, so that no other
    /// task can change it.
    private func decide(_ group: inout DiscardingTaskGroup) async {
        var machine = SubscriberStateMachine(
            configuration: self.configuration, seed: UInt64.random(in: .min ... .max))
        var alarm = Alarm()
        var isSettled = false
        var brokerDrops = machine.brokerDrops
        var inbox = Inbox(self.mailbox)
        while let envelope = await inbox.next() {
            let moment = self.clock.moment
            for action in machine.happened(envelope.event, at: moment) { self.perform(action, machine) }
            if case .unwatch(let id) = envelope.event { self.noteExpected(id, machine) }
            if machine.isSettled != isSettled {
                isSettled = machine.isSettled
                self.shared.withLock { $0.isSettled = isSettled }
                self.settling.notify()
            }
            if machine.brokerDrops != brokerDrops {
                self.note(machine.brokerDrops, since: brokerDrops)
                brokerDrops = machine.brokerDrops
            }
            envelope.receipt?.resume()
            if machine.isClosed { break }
            if let deadline = alarm.arm(machine.nextDeadline, now: moment.now) {
                group.addTask {
                    await self.clock.sleep(until: deadline)
                    self.mailbox.post(.timer)
                }
            }
        }
        inbox.close()
    }

    private func perform(_ action: SubscriberStateMachine.Action, _ machine: borrowing SubscriberStateMachine) {
        switch action {
        case .send(let commands):
            self.transport.send(commands)
        case .deliver(let event):
            self.note(event, machine)
            self.deliveries.deliver(event)
        case .published(let request, let failure):
            self.shared.withLock { $0.publishing.removeValue(forKey: request) }?.yield(failure)
        case .publishers(let request, let found):
            self.shared.withLock { $0.listing.removeValue(forKey: request) }?.yield(found)
        }
    }

    private func note(_ event: SubscriberEvent, _ machine: borrowing SubscriberStateMachine) {
        switch event {
        case .location(let id, _), .resolution(let id, _), .presence(let id, _):
            self.noteExpected(id, machine)
        case .state(let id, let state, let reason):
            self.noteExpected(id, machine)
            if state == .failed { self.shared.withLock { $0.failure = reason } }
        case .badMessage(let topic, let error):
            self.bad.skipped(topic, error, now: self.clock.moment.now)
        case .refused, .enhancedRefused, .publishRefused:
            self.logRefusal(event)
        case .publishedLocation, .locationCleared, .positionsKept, .raw, .trip, .tripRecorded, .event, .journey,
            .estimate, .silent, .connection:
            break
        }
    }

    /// Stores the number of messages that the broker dropped, so that ``brokerDrops`` returns it. Logs a warning about
    /// an increase, at most once in ten minutes.
    private func note(_ drops: BrokerDrops, since earlier: BrokerDrops) {
        let now = self.clock.moment.now
        let isNews = self.shared.withLock { shared in
            shared.brokerDrops = drops
            guard drops.count > earlier.count else { return false }
            if let last = shared.lastDropWarning, last.duration(to: now) < BrokerDrops.warningPause { return false }
            shared.lastDropWarning = now
            return true
        }
        guard isNews else { return }
        self.logger.warning(
            "Broker dropped messages because a client's queue at the broker was full: positions or states may be missing. Raise max_queued_messages in the broker's configuration",
            metadata: ["dropped": "\(drops.count - earlier.count)"])
    }

    private func noteExpected(_ id: TrackableID, _ machine: borrowing SubscriberStateMachine) {
        let expected = machine.nextExpected(id)
        self.shared.withLock { $0.expected[id] = expected }
    }
}
