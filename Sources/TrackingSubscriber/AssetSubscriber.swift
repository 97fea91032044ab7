public import Logging
public import ServiceLifecycle
public import TrackingCore
import Synchronization
import TrackingRuntime

/// Watches trackables over one connection: positions in order, states, presence, and requests for resolutions.
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
    private let configuration: SubscriberConfiguration
    private let transport: Transport
    let logger: Logger
    private let clock = DeviceClock()
    let mailbox = Mailbox<SubscriberStateMachine.Event>()
    private let deliveries = Broadcast<SubscriberEvent>(
        buffer: 65_536, bytes: 32 * 1_024 * 1_024, size: { $0.approximateBytes })
    private let bad: BadMessages
    let shared = Mutex(Shared())

    struct Shared {
        var expected: [TrackableID: MonotonicTime] = [:]
        var failure: TrackingError?
        /// The callers that wait for the broker's answer to an event, by its number.
        var publishing: [UInt64: AsyncStream<TrackingError?>.Continuation] = [:]
        var lastRequest: UInt64 = 0
        var hasBegun = false
        var hasEnded = false
        var isSettled = false
        var brokerDrops = BrokerDrops()
        /// The number of streams of `locations(of:requesting:)` that a trackable has.
        var watches: [TrackableID: Int] = [:]
    }

    /// Makes a subscriber that watches nothing yet.
    ///
    /// - Parameter transport: The connection; it is run and closed by this subscriber.
    public init(
        configuration: SubscriberConfiguration, transport: Transport,
        logger: Logger = Logger(label: "godwit.subscriber")
    ) {
        self.configuration = configuration
        self.transport = transport
        self.logger = logger
        self.bad = BadMessages(logger: logger)
    }

    /// Watches a trackable. The retained position, resolution and presence are delivered first.
    ///
    /// - Parameter resolution: The resolution to request; `nil` requests none.
    public func watch(_ id: TrackableID, requesting resolution: Resolution? = nil) {
        self.mailbox.post(.watch(id, resolution))
    }

    /// Stops watching a trackable, and withdraws the request and the presence on it.
    public func unwatch(_ id: TrackableID) { self.mailbox.post(.unwatch(id)) }

    /// Requests another resolution, or withdraws the request (`nil`).
    public func request(_ resolution: Resolution?, for id: TrackableID) { self.mailbox.post(.request(id, resolution)) }

    /// Publishes an event of a trackable, where the broker's rules allow that. Returns once the broker has accepted the
    /// event. An event that is published again after a lost connection may arrive twice.
    ///
    /// - Throws: `payloadTooLarge` for a detail of more than ``WireLimits/maximumDetailBytes``; `connectionLost` before
    ///   ``run()``, or when there is no connection or it is lost meanwhile; `notAuthorized`; `stopped` after the end or
    ///   a cancelled wait. After a cancelled wait the event is published all the same.
    public func publish(_ event: TrackingEvent, of id: TrackableID) async throws(TrackingError) {
        try event.checkDetail()
        let (answers, answer) = AsyncStream.makeStream(of: TrackingError?.self)
        let request = try self.shared.withLock { (shared) throws(TrackingError) in
            guard shared.hasBegun else {
                throw TrackingError(
                    .connectionLost, "cannot publish the event: the subscriber does not run yet. Call run() first")
            }
            guard !shared.hasEnded else {
                throw TrackingError(.stopped, "cannot publish the event: the subscriber has ended")
            }
            shared.lastRequest += 1
            shared.publishing[shared.lastRequest] = answer
            return shared.lastRequest
        }
        self.mailbox.post(.publish(event, of: id, request: request))
        for await failure in answers {
            if let failure { throw failure }
            return
        }
        throw TrackingError(
            .stopped, "the wait for the broker's answer was cancelled; the event is published all the same")
    }

    /// Stops in order: withdraws all requests, publishes the goodbye and closes the connection. ``run()`` returns then.
    public func finish() { self.mailbox.post(.stop) }

    // MARK: - Events

    /// The events of all watched trackables, in order, from now on. A reader that does not keep up loses the oldest events beyond
    /// 65,536 or about 32 MB (see ``lostEvents``); other readers do not wait for it. See also ``everyEvent``.
    public var events: AsyncStream<SubscriberEvent> { self.deliveries.listen() }

    /// The same events for a reader that must not miss any: while it is behind by as much, nothing is read from the connection, so
    /// all readers wait for it. A reader that was cancelled or released is not waited for.
    public var everyEvent: AsyncStream<SubscriberEvent> { self.deliveries.listen(losingNothing: true) }

    /// The positions of one trackable, from now on; late ones are marked. Cleared positions appear in ``events`` alone.
    public func locations(of id: TrackableID) -> some AsyncSequence<ReceivedUpdate, Never> & Sendable {
        self.events.compactMap { if case .location(id, let update) = $0 { update } else { nil } }
    }

    /// The raw positions of one trackable, as the receiver measured them, from now on; see `wantsRaw`.
    public func rawLocations(of id: TrackableID) -> some AsyncSequence<ReceivedUpdate, Never> & Sendable {
        self.events.compactMap { if case .raw(id, let update) = $0 { update } else { nil } }
    }

    /// The states of one trackable, from now on. Their reasons appear in ``events``.
    public func states(of id: TrackableID) -> some AsyncSequence<SubscriberState, Never> & Sendable {
        self.events.compactMap { if case .state(id, let state, _) = $0 { state } else { nil } }
    }

    /// The presence of one trackable's publisher, from now on.
    public func presence(of id: TrackableID) -> some AsyncSequence<PublisherPresence, Never> & Sendable {
        self.events.compactMap { if case .presence(id, let presence) = $0 { presence } else { nil } }
    }

    /// The resolution in force of one trackable, from now on.
    public func resolutions(of id: TrackableID) -> some AsyncSequence<ResolutionInForce, Never> & Sendable {
        self.events.compactMap { if case .resolution(id, let resolution?) = $0 { resolution } else { nil } }
    }

    /// The current or last trip of one trackable, from now on: each newer version once.
    public func trips(of id: TrackableID) -> some AsyncSequence<Trip, Never> & Sendable {
        self.events.compactMap { if case .trip(id, let trip?) = $0 { trip } else { nil } }
    }

    /// The tracking events of one trackable, from now on.
    public func trackingEvents(of id: TrackableID) -> some AsyncSequence<TrackingEvent, Never> & Sendable {
        self.events.compactMap { if case .event(id, let event) = $0 { event } else { nil } }
    }

    /// Returns the time until the next update of a trackable is due if it moves; negative when it is overdue, `nil`
    /// while none is expected.
    public func untilNextExpected(_ id: TrackableID) -> Duration? {
        let now = self.clock.moment.now
        return self.shared.withLock { $0.expected[id] }.map { now.duration(to: $0) }
    }

    /// `true` while the subscriber is connected and the broker has answered all its subscriptions: messages published
    /// from now on are delivered, as long as the value remains `true`.
    public var isSettled: Bool { self.shared.withLock { $0.isSettled } }

    /// The messages that the broker dropped; requires ``SubscriberConfiguration/readsBrokerDrops`` and the right to
    /// read them.
    public var brokerDrops: BrokerDrops { self.shared.withLock { $0.brokerDrops } }

    /// The number of messages that were skipped because they cannot be read.
    public var badMessages: Int { self.bad.count }

    /// The number of events that readers lost because they did not keep up, over all streams.
    public var lostEvents: Int { self.deliveries.lost }

    // MARK: - Running

    /// Runs until ``finish()``, a graceful shutdown, or cancellation. Call it once, and not with
    /// `locations(of:requesting:)`, which runs the subscriber by itself.
    ///
    /// - Throws: `takenOver` when another program uses the client id; `invalidConfiguration` when the subscriber runs or
    ///   ran already.
    public func run() async throws {
        guard self.begins() else {
            throw TrackingError(
                .invalidConfiguration,
                "cannot run the subscriber: it runs or ran already. Call run() once, and not with locations(of:requesting:)"
            )
        }
        try await self.runToEnd()
    }

    /// Returns `true` for the first caller, which then runs the subscriber.
    func begins() -> Bool {
        self.shared.withLock { shared in
            defer { shared.hasBegun = true }
            return !shared.hasBegun
        }
    }

    /// Runs after ``begins()``.
    ///
    /// - Throws: `takenOver` when another program uses the client id.
    func runToEnd() async throws {
        await withTaskExecutorPreference(self.transport.executor) { await self.work() }
        self.deliveries.finish()
        let publishing = self.shared.withLock { shared in
            shared.hasEnded = true
            defer { shared.publishing = [:] }
            return shared.publishing.values
        }
        for waiting in publishing { waiting.yield(TrackingError(.stopped, "the subscriber has ended")) }
        if let failure = self.shared.withLock({ $0.failure }) { throw failure }
    }

    /// Runs on the transport's executor and waits for events only.
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

    /// Runs the machine, which is a local variable, so that no other task can change it.
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
            }
            if machine.brokerDrops != brokerDrops {
                brokerDrops = machine.brokerDrops
                self.shared.withLock { $0.brokerDrops = brokerDrops }
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
        case .refused(let id, let error):
            let what = id.map { "\($0)" } ?? "everything"
            self.logger.warning(
                "Broker refused a subscription", metadata: ["trackable": "\(what)", "reason": "\(error)"])
        case .publishRefused(let topic, let error):
            self.logger.warning(
                "Broker refused a presence or request: this user may not write the topic, and perhaps may not read the trackable",
                metadata: ["topic": "\(topic)", "reason": "\(error)"])
        case .locationCleared, .positionsKept, .raw, .trip, .tripRecorded, .event, .silent, .connection:
            break
        }
    }

    private func noteExpected(_ id: TrackableID, _ machine: borrowing SubscriberStateMachine) {
        let expected = machine.nextExpected(id)
        self.shared.withLock { $0.expected[id] = expected }
    }
}
