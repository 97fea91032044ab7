public import Logging
public import ServiceLifecycle
public import TrackingCore
import Synchronization
import TrackingRuntime

/// Watches trackables over one connection: positions in order, states, presence, and the resolution it wants.
///
///     let subscriber = AssetSubscriber(configuration: configuration, transport: transport)
///     subscriber.watch(try TrackableID("van-7"), requesting: resolution)
///     for await event in subscriber.events { print(event) }      // while subscriber.run() runs in another task
///
/// Nothing here fails because of the network: only the states tell.
public final class AssetSubscriber<Transport: MessageTransport>: Service {
    private let configuration: SubscriberConfiguration
    private let transport: Transport
    private let logger: Logger
    private let clock = DeviceClock()
    private let mailbox = Mailbox<SubscriberStateMachine.Event>()
    private let told = Broadcast<SubscriberEvent>(
        buffer: 65_536, bytes: 32 * 1_024 * 1_024, size: { $0.approximateBytes })
    private let bad: BadMessages
    private let shared = Mutex(Shared())

    private struct Shared {
        var expected: [TrackableID: MonotonicTime] = [:]
        var failure: TrackingError?
        /// Who waits for the broker to take an event, by its number.
        var publishing: [UInt64: AsyncStream<TrackingError?>.Continuation] = [:]
        var lastRequest: UInt64 = 0
        var hasBegun = false
        var hasEnded = false
        var isSettled = false
        var brokerDrops = BrokerDrops()
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

    /// Watches a trackable from now on, asking for a resolution or not; late joiners get the last position, resolution and
    /// presence at once.
    public func watch(_ id: TrackableID, requesting resolution: Resolution? = nil) {
        self.mailbox.post(.watch(id, resolution))
    }

    /// Stops watching a trackable: its request and presence are withdrawn.
    public func unwatch(_ id: TrackableID) { self.mailbox.post(.unwatch(id)) }

    /// Asks for another resolution, or drops the request (`nil`).
    public func request(_ resolution: Resolution?, for id: TrackableID) { self.mailbox.post(.request(id, resolution)) }

    /// Tells everyone of something that happened to a trackable, where the broker's rules let this user; returns when the broker
    /// has taken it. It may have come twice when it is tried again after a lost connection.
    ///
    /// - Throws: `payloadTooLarge` for a detail of more than ``WireLimits/maximumDetailBytes``; `connectionLost` when there is no connection, or it is lost meanwhile, and before ``run()``; `notAuthorized`,
    ///   `stopped`, also when the wait is cancelled: it goes out all the same.
    public func publish(_ event: TrackingEvent, of id: TrackableID) async throws(TrackingError) {
        try event.checkDetail()
        let (answers, answer) = AsyncStream.makeStream(of: TrackingError?.self)
        let request = try self.shared.withLock { (shared) throws(TrackingError) in
            guard shared.hasBegun else { throw TrackingError(.connectionLost, "the subscriber does not run yet") }
            guard !shared.hasEnded else { throw TrackingError(.stopped, "the subscriber has ended") }
            shared.lastRequest += 1
            shared.publishing[shared.lastRequest] = answer
            return shared.lastRequest
        }
        self.mailbox.post(.publish(event, of: id, request: request))
        for await failure in answers {
            if let failure { throw failure }
            return
        }
        throw TrackingError(.stopped, "the wait was cancelled; the event goes out all the same")
    }

    /// Takes leave in order; ``run()`` returns then.
    public func finish() { self.mailbox.post(.stop) }

    // MARK: - What comes out

    /// Everything about every watched trackable, in order, from now on. A reader that does not keep up loses the oldest
    /// beyond 65,536 events or about 32 MB, see ``lostEvents``; others are not held up. See ``everyEvent``.
    public var events: AsyncStream<SubscriberEvent> { self.told.listen() }

    /// The same for a reader that is to miss nothing: while it is behind by so much, nothing more is read from the connection, and
    /// everyone waits for it. One that is cancelled or let go is not waited for.
    public var everyEvent: AsyncStream<SubscriberEvent> { self.told.listen(losingNothing: true) }

    /// The positions of one trackable, in order, from now on; late ones are marked. Of what is cleared only ``events`` tell.
    public func locations(of id: TrackableID) -> some AsyncSequence<ReceivedUpdate, Never> & Sendable {
        self.events.compactMap { if case .location(id, let update) = $0 { update } else { nil } }
    }

    /// The positions of one trackable as the receiver told them, from now on; see `wantsRaw`.
    public func rawLocations(of id: TrackableID) -> some AsyncSequence<ReceivedUpdate, Never> & Sendable {
        self.events.compactMap { if case .raw(id, let update) = $0 { update } else { nil } }
    }

    /// The states of one trackable, from now on; of the reasons ``events`` tell.
    public func states(of id: TrackableID) -> some AsyncSequence<SubscriberState, Never> & Sendable {
        self.events.compactMap { if case .state(id, let state, _) = $0 { state } else { nil } }
    }

    /// Whether the publisher of one trackable is there, from now on.
    public func presence(of id: TrackableID) -> some AsyncSequence<PublisherPresence, Never> & Sendable {
        self.events.compactMap { if case .presence(id, let presence) = $0 { presence } else { nil } }
    }

    /// The resolution in force of one trackable, from now on.
    public func resolutions(of id: TrackableID) -> some AsyncSequence<ResolutionInForce, Never> & Sendable {
        self.events.compactMap { if case .resolution(id, let resolution?) = $0 { resolution } else { nil } }
    }

    /// The trip of one trackable, from now on: the one under way or the last one, each newer version once.
    public func trips(of id: TrackableID) -> some AsyncSequence<Trip, Never> & Sendable {
        self.events.compactMap { if case .trip(id, let trip?) = $0 { trip } else { nil } }
    }

    /// What happens to one trackable, from now on.
    public func trackingEvents(of id: TrackableID) -> some AsyncSequence<TrackingEvent, Never> & Sendable {
        self.events.compactMap { if case .event(id, let event) = $0 { event } else { nil } }
    }

    /// How long until the next update of a trackable is due if it moves; negative when it is overdue, `nil` while none is
    /// expected.
    public func untilNextExpected(_ id: TrackableID) -> Duration? {
        let now = self.clock.moment.now
        return self.shared.withLock { $0.expected[id] }.map { now.duration(to: $0) }
    }

    /// Whether it is connected, and the broker has answered for everything that it asks to hear: what is published from now on
    /// is told, as long as this is so.
    public var isSettled: Bool { self.shared.withLock { $0.isSettled } }

    /// The messages that the broker dropped, where ``SubscriberConfiguration/readsBrokerDrops`` and this user may read that.
    public var brokerDrops: BrokerDrops { self.shared.withLock { $0.brokerDrops } }

    /// How many messages could not be read.
    public var badMessages: Int { self.bad.count }

    /// How many events readers lost that did not keep up, over all streams.
    public var lostEvents: Int { self.told.lost }

    // MARK: - Running

    /// Runs until ``finish()``, a graceful shutdown, or cancellation. Call it once.
    ///
    /// - Throws: `takenOver` when another program uses the client id.
    public func run() async throws {
        self.shared.withLock { $0.hasBegun = true }
        await withTaskExecutorPreference(self.transport.executor) { await self.work() }
        self.told.finish()
        let publishing = self.shared.withLock { shared in
            shared.hasEnded = true
            defer { shared.publishing = [:] }
            return shared.publishing.values
        }
        for waiting in publishing { waiting.yield(TrackingError(.stopped, "the subscriber has ended")) }
        if let failure = self.shared.withLock({ $0.failure }) { throw failure }
    }

    /// Everything here is short and never waits for more than the next event: it runs where the transport wants it.
    @concurrent
    private func work() async {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.transport.run() }
                group.addTask {
                    for await events in self.transport.events {
                        await self.mailbox.postAndWait(events) { .transport($0) }
                        await self.told.caughtUp()
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

    /// The machine is a local variable: nobody else can touch it.
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
        case .tell(let event):
            self.note(event, machine)
            self.told.tell(event)
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
            self.logger.warning("not authorised", metadata: ["trackable": "\(what)", "reason": "\(error)"])
        case .publishRefused(let topic, let error):
            self.logger.warning(
                "not counted as watching: the rules let this user not write here; they may not let it read the trackable either",
                metadata: ["topic": "\(topic)", "reason": "\(error)"])
        case .locationCleared, .positionsKept, .raw, .trip, .tripRecorded, .event, .unheard, .connection:
            break
        }
    }

    private func noteExpected(_ id: TrackableID, _ machine: borrowing SubscriberStateMachine) {
        let expected = machine.nextExpected(id)
        self.shared.withLock { $0.expected[id] = expected }
    }
}
