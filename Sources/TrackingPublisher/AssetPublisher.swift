public import Logging
public import ServiceLifecycle
public import TrackingCore
import Synchronization
import TrackingRuntime

/// Carries trackables: feeds every fix through the resolution's filter and keeps the world informed.
///
///     let publisher = AssetPublisher(configuration: configuration, transport: transport)
///     publisher.add(Trackable(try TrackableID("van-7")))
///     try await publisher.run()          // in a task or a ServiceGroup; publisher.publish(fix) feeds it
///
/// Nothing here fails because of the network: only ``states`` tell.
public final class AssetPublisher<Transport: MessageTransport>: Service {
    private let configuration: PublisherConfiguration
    private let transport: Transport
    private let policy: any ResolutionPolicy
    private let spool: any SpoolStorage
    private let logger: Logger
    let clock: DeviceClock
    let log: LogWorker
    let mailbox = Mailbox<PublisherStateMachine.Event>()
    private let stateChanges = Broadcast<TrackableStateChange>(buffer: 1024)
    private let captures = Broadcast<CapturedFix>(buffer: 4096)
    private let resolutionChanges = Broadcast<TrackableResolutionChange>(buffer: 1024)
    private let tripChanges = Broadcast<Trip>(buffer: 256)
    private let toldEvents = Broadcast<TrackableEvent>(buffer: 1_000)
    private let sensor = Broadcast<Resolution>(buffer: 1)
    private let connections = Broadcast<Disconnection?>(buffer: 64)
    private let bad: BadMessages
    private let refused = Atomic(0)
    let receivedCommands = Broadcast<ReceivedCommand>(buffer: 64)
    let shared = Mutex(Shared())

    typealias Answer = PublisherStateMachine.Answer

    /// What is said about a request.
    enum Reply: Sendable {
        case progressed(done: Int, total: Int)
        case answered(Result<Answer, TrackingError>)
    }

    struct Shared {
        var active: TrackableID?
        var states: [TrackableID: PublisherState] = [:]
        var sensor: Resolution?
        /// Why a trackable failed, or why positions of it were never sent; of those that are carried.
        var failures: [TrackableID: TrackingError] = [:]
        /// Who waits for the answer to a request, by its number.
        var requests: [UInt64: @Sendable (Reply) -> Void] = [:]
        var lastRequest: UInt64 = 0
        /// Whether the log is open, so that something is decided.
        var isDeciding = false
        var hasEnded = false
        /// Whether the program is asked to end: to do so is no failure.
        var isShuttingDown = false
        var warnings = WarningLimit<TrackingError.Code>()
    }

    /// Makes a publisher that carries nothing yet.
    ///
    /// - Parameters:
    ///   - transport: The connection; it is run and closed by this publisher.
    ///   - spool: Where records are kept until they are safe; in memory by default, the last 100,000 records, and then gone with
    ///     the program.
    ///   - policy: What decides resolutions; a policy of one's own sees the same snapshot. It is asked on the transport's
    ///     thread, so it answers at once.
    public init(
        configuration: PublisherConfiguration, transport: Transport, spool: any SpoolStorage = InMemorySpool(),
        policy: any ResolutionPolicy = DefaultResolutionPolicy(), logger: Logger = Logger(label: "godwit.publisher")
    ) {
        self.configuration = configuration
        self.transport = transport
        self.spool = spool
        self.policy = policy
        self.logger = logger
        self.bad = BadMessages(logger: logger)
        let clock = DeviceClock()
        self.clock = clock
        self.log = LogWorker(
            storage: spool, limits: Self.limits(configuration.limits, spool), logger: logger
        ) { clock.moment.wall }
    }

    // MARK: - What is carried

    /// Carries a trackable from now on; nothing happens when it is carried already.
    public func add(_ trackable: Trackable) { self.mailbox.post(.add(trackable)) }

    /// Carries a trackable and makes it the active one.
    public func track(_ trackable: Trackable) {
        self.shared.withLock { $0.active = trackable.id }
        self.add(trackable)
    }

    /// Carries it with another destination, other constraints or another filter.
    public func change(_ trackable: Trackable) { self.mailbox.post(.change(trackable)) }

    /// Takes leave of a trackable: its presence and resolution are withdrawn, its trip ends, its last position stays. No state is
    /// told of it any more, this one included. What of it was not sent stays in the log, and goes once it is carried again; a log in
    /// memory ends with the program, so ``flush(_:)`` first.
    public func remove(_ id: TrackableID) {
        self.shared.withLock { if $0.active == id { $0.active = nil } }
        self.mailbox.post(.remove(id))
    }

    /// Begins a trip of a trackable; its points carry the trip's id.
    ///
    /// - Throws: `tripUnderWay` when there is one already; `invalidName` when the trackable is not carried; `stopped`, also when the
    ///   wait is cancelled: it begins all the same.
    public func startTrip(_ mode: TripMode, of id: TrackableID) async throws(TrackingError) -> Trip {
        try await self.trip { .trip(id, mode, request: $0) }
    }

    /// Ends the trip of a trackable.
    ///
    /// - Throws: `noTrip` when there is none; `invalidName` when the trackable is not carried; `stopped`, also when the wait is
    ///   cancelled: it ends all the same.
    public func stopTrip(of id: TrackableID) async throws(TrackingError) -> Trip {
        try await self.trip { .trip(id, nil, request: $0) }
    }

    private func trip(
        _ event: @Sendable (UInt64) -> PublisherStateMachine.Event
    ) async throws(TrackingError) -> Trip {
        guard case .trip(let trip) = try await self.request(event).get() else {
            throw TrackingError(.stopped, "the publisher gave no answer")
        }
        return trip
    }

    /// Sends what waits in the log now: one batch of each trackable, or everything.
    public func sendRecords(all: Bool) { self.mailbox.post(.sendRecords(all: all)) }

    /// The trackable that was given to ``track(_:)`` last and not removed since.
    public var active: TrackableID? { self.shared.withLock { $0.active } }

    /// The state of a trackable; `nil` when it is not carried.
    public func state(of id: TrackableID) -> PublisherState? { self.shared.withLock { $0.states[id] } }

    // MARK: - What goes in

    /// A position; returns when it was captured and everything sent so far was acknowledged, on a connection that stands; or
    /// when the broker refuses this device or all that it carries, so that waiting does not help; or when the task is cancelled, and it
    /// is published all the same. A fix is not taken as ``publish(_:raw:)`` says.
    /// For recordings that are read faster than they were made, so that nothing is passed over.
    public func publishAndWait(_ fix: Location, raw: Location? = nil) async {
        await self.mailbox.postAndWait(.fix(fix, raw: raw ?? fix))
    }

    /// A position; returns at once. One with a time that the wire does not carry is not taken (``WireLimits/allows(_:)``: milliseconds
    /// in place of seconds, or no number): that is logged, and counted in ``refusedFixes``.
    public func publish(_ fix: Location, raw: Location? = nil) { self.mailbox.post(.fix(fix, raw: raw ?? fix)) }

    /// Returns once everything that was published before is in the log, or could not be written: whoever reads faster than a disk
    /// writes calls it now and then, so that what is read does not pile up in memory.
    public func publishedIsLogged() async {
        // Behind what was published, of which the log is asked in that order.
        await self.mailbox.postAndWait(.timer)
        try? await self.log.inquire { (_) throws(TrackingError) in }
    }

    /// The battery's charge in percent, 0…100; `nil` is unknown.
    public func batteryRead(_ percent: Double?) { self.mailbox.post(.battery(percent)) }

    /// No more fixes will come: the last one goes out, everything is acknowledged, presences are withdrawn and ``run()``
    /// returns; at the latest `within` from now, where it is given. A connection that waits to be tried again is tried at once, and
    /// what the broker refuses once more; then it is given up.
    public func finish(within limit: Duration? = nil) {
        self.mailbox.post(.stop(by: limit.map { self.clock.moment.now.advanced(by: $0) }))
    }

    // MARK: - What comes out

    /// Every change of a trackable's state or of the reason for it, with the reason where there is one: OFFLINE when it is added,
    /// and nothing when it is removed.
    public var states: AsyncStream<TrackableStateChange> { self.stateChanges.listen() }
    /// Every fix, sent or not, and what became of it.
    public var fixes: AsyncStream<CapturedFix> { self.captures.listen() }
    /// Every change of a trackable's resolution, and why.
    public var resolutions: AsyncStream<TrackableResolutionChange> { self.resolutionChanges.listen() }
    /// Every version of every trip: its beginning, its progress once a minute, its end.
    public var trips: AsyncStream<Trip> { self.tripChanges.listen() }
    /// Every event of every trackable, as it happens; a listener that does not keep up has the last 1,000.
    public var trackingEvents: AsyncStream<TrackableEvent> { self.toldEvents.listen() }
    /// How many events were lost to listeners that did not keep up.
    public var lostTrackingEvents: Int { self.toldEvents.lost }
    /// What is asked of the source, from now on.
    public var sensorResolutions: AsyncStream<Resolution> { self.sensor.listen() }
    /// The connection: `nil` when it was made, else why it is not there.
    public var connectionChanges: AsyncStream<Disconnection?> { self.connections.listen() }
    /// What is asked of the source now.
    public var sensorResolution: Resolution? { self.shared.withLock { $0.sensor } }
    /// How many fixes were not taken.
    public var refusedFixes: Int { self.refused.load(ordering: .relaxed) }
    /// How many messages could not be read.
    public var badMessages: Int { self.bad.count }

    // MARK: - Running

    /// Runs until ``finish(within:)``, a graceful shutdown, or cancellation. Call it once.
    ///
    /// - Throws: `takenOver` when another program uses the client id; after ``finish(within:)`` the broker's reason where it
    ///   refuses this device or a trackable, so that positions of it were never sent; `spoolFailed` when the log cannot be opened.
    public func run() async throws {
        do {
            let contents = try await self.spool.open(now: self.clock.moment.wall)
            LogWorker.tell(contents, self.logger)
            await withTaskExecutorPreference(self.transport.executor) { await self.work(contents) }
            self.end()
        } catch {
            self.end()
            // Who asked the log before has an answer.
            self.log.finish()
            await self.log.run { _, _ in }
            throw error
        }
        try await self.spool.close()
        let failures = self.shared.withLock { $0.failures }
        if let first = failures.min(by: { $0.key < $1.key }) { throw first.value }
    }

    /// Everything here is short and never waits for more than the next event: it runs where the transport wants it. Only a log
    /// that has a thread of its own is asked from that.
    @concurrent
    private func work(_ contents: SpoolContents) async {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                let logging: @Sendable @concurrent () async -> Void = {
                    await self.log.run { self.mailbox.post(.log($0, $1)) }
                }
                // To name no preference is to inherit one; to name `nil` is not.
                if let executor = self.spool.executor {
                    group.addTask(executorPreference: executor, operation: logging)
                } else {
                    group.addTask(operation: logging)
                }
                group.addTask { await self.transport.run() }
                group.addTask {
                    for await events in self.transport.events {
                        await self.mailbox.postAndWait(events) { .transport($0) }
                    }
                    self.mailbox.post(.stop(by: self.clock.moment.now))
                }
                await self.decide(&group, contents)
                self.log.finish()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.shared.withLock { $0.isShuttingDown = true }
            self.finish(within: .milliseconds(2_500))
        }
    }

    /// The machine is a local variable: nobody else can touch it.
    private func decide(_ group: inout DiscardingTaskGroup, _ contents: SpoolContents) async {
        var machine = PublisherStateMachine(
            configuration: self.configuration, policy: self.policy, logs: contents.trackables,
            kept: contents.state, seed: UInt64.random(in: .min ... .max))
        self.shared.withLock { $0.isDeciding = true }
        var alarm = Alarm()
        var ages = machine.ages
        var waiting: [Receipt] = []
        var inbox = Inbox(self.mailbox)
        while let envelope = await inbox.next() {
            let moment = self.clock.moment
            let actions = machine.happened(envelope.event, at: moment)
            if machine.ages != ages {
                ages = machine.ages
                self.log.knowsAges = ages.isGiven
            }
            self.log.ask(
                actions.compactMap { if case .log(let id, let action) = $0 { (id, action) } else { nil } },
                goesOn: actions.contains { if case .send = $0 { true } else { false } })
            for action in actions {
                if case .limitsChanged(let limits) = action { self.log.keep(within: Self.limits(limits, self.spool)) }
                self.perform(action)
            }
            if let receipt = envelope.receipt {
                if case .fix = envelope.event { waiting.append(receipt) } else { receipt.resume() }
            }
            if !waiting.isEmpty, machine.isReadyForNextFix {
                for receipt in waiting { receipt.resume() }
                waiting = []
            }
            if machine.isClosed { break }
            if let deadline = alarm.arm(machine.nextDeadline, now: moment.now) {
                group.addTask {
                    await self.clock.sleep(until: deadline)
                    self.mailbox.post(.timer)
                }
            }
        }
        for receipt in waiting { receipt.resume() }
        inbox.close()
    }

    private func perform(_ action: PublisherStateMachine.Action) {
        switch action {
        case .log, .limitsChanged:
            break  // asked together, before anything else
        case .told(let id, let event):
            self.toldEvents.tell(TrackableEvent(trackable: id, event: event))
        case .tripChanged(_, let trip):
            self.tripChanges.tell(trip)
        case .answered(let request, let answer):
            self.shared.withLock { $0.requests.removeValue(forKey: request) }?(.answered(answer))
        case .progressed(let request, let done, let total):
            self.shared.withLock { $0.requests[request] }?(.progressed(done: done, total: total))
        case .commanded(let command):
            self.logger.debug(
                "command", metadata: ["trackable": "\(command.trackable)", "name": "\(command.command.name.rawValue)"])
            self.receivedCommands.tell(command)
        case .commandsRefused(let id, let error):
            self.logger.warning("no commands", metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .logFailed(let id, let error):
            guard let unsaid = self.mayWarn(of: error) else { return }
            self.logger.error(
                "records were not logged",
                metadata: ["trackable": "\(id)", "reason": "\(error)", "unsaid": "\(unsaid)"])
        case .numbersReused(let id, let stream):
            self.logger.warning(
                "the log was put back to an earlier state: a recorder has more of its stream; a new one begins",
                metadata: ["trackable": "\(id)", "stream": "\(stream)"])
        case .recordsRefused(let id, let error):
            self.logger.warning("records are refused", metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .send(let commands):
            self.transport.send(commands)
        case .useSensorResolution(let resolution):
            self.shared.withLock { $0.sensor = resolution }
            self.sensor.tell(resolution)
        case .stateChanged(let id, let state, let reason):
            self.shared.withLock {
                $0.states[id] = state
                if state == .failed { $0.failures[id] = reason }
            }
            self.logger.debug("state", metadata: ["trackable": "\(id)", "state": "\(state.rawValue)"])
            self.stateChanges.tell(TrackableStateChange(trackable: id, state: state, reason: reason))
        case .fixRefused(let error):
            self.refused.add(1, ordering: .relaxed)
            guard let unsaid = self.mayWarn(of: error) else { return }
            self.logger.warning("a fix was not taken", metadata: ["reason": "\(error)", "unsaid": "\(unsaid)"])
        case .extraLeftOut(let error):
            guard let unsaid = self.mayWarn(of: error) else { return }
            self.logger.warning(
                "extra or the id of the trip was left out of a fix",
                metadata: ["reason": "\(error)", "unsaid": "\(unsaid)"])
        case .captured(let id, let fix, let verdict):
            self.captures.tell(CapturedFix(trackable: id, fix: fix, verdict: verdict))
        case .resolutionChanged(let id, let inForce):
            self.resolutionChanges.tell(TrackableResolutionChange(trackable: id, inForce: inForce))
        case .badMessage(let topic, let error):
            self.bad.skipped(topic, error, now: self.clock.moment.now)
        case .connectionChanged(let disconnection):
            self.connections.tell(disconnection)
        case .removed(let id):
            self.shared.withLock { shared in
                shared.states[id] = nil
                shared.failures[id] = nil
            }
        case .givenUp(let id, let error):
            self.shared.withLock { if !$0.isShuttingDown { $0.failures[id] = $0.failures[id] ?? error } }
            self.logger.error("positions were not sent", metadata: ["trackable": "\(id)", "reason": "\(error)"])
        }
    }

    /// How many warnings of this kind were not said before this one; `nil` when this one is not said either.
    private func mayWarn(of error: TrackingError) -> Int? {
        let now = self.clock.moment.now
        guard case .say(let unsaid) = self.shared.withLock({ $0.warnings.happened(error.code, now: now) }) else {
            return nil
        }
        return unsaid
    }

    /// Nothing comes or is waited for any more, on whichever way out.
    private func end() {
        self.mailbox.close()
        self.stateChanges.finish()
        self.captures.finish()
        self.resolutionChanges.finish()
        self.sensor.finish()
        self.tripChanges.finish()
        self.toldEvents.finish()
        self.receivedCommands.finish()
        let waiting = self.shared.withLock { shared in
            shared.hasEnded = true
            defer { shared.requests = [:] }
            return shared.requests.values
        }
        for request in waiting {
            request(.answered(.failure(TrackingError(.stopped, "the publisher has ended"))))
        }
        self.connections.finish()
    }
}
