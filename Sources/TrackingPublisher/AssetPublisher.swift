public import Logging
public import ServiceLifecycle
public import TrackingCore
import Synchronization
import TrackingRuntime

/// Tracks trackables: records their fixes (positions from the receiver) in a log, publishes positions at the rate of
/// their resolution, and sends pending records until they are acknowledged.
///
///     let publisher = AssetPublisher(configuration: configuration, transport: transport)
///     publisher.add(Trackable(try TrackableID("van-7")))
///     try await publisher.run()          // in a task or a ServiceGroup; publisher.publish(fix) feeds it
///
/// Network failures never throw. They appear in ``states``.
public final class AssetPublisher<Transport: MessageTransport>: Service {
    private let configuration: PublisherConfiguration
    private let transport: Transport
    private let policy: any ResolutionPolicy
    private let spool: any SpoolStorage
    let logger: Logger
    let clock: DeviceClock
    let log: LogWorker
    let mailbox = Mailbox<PublisherStateMachine.Event>()
    let streams = PublisherStreams()
    let bad: BadMessages
    let refused = Atomic(0)
    let shared = Mutex(PublisherShared())

    typealias Answer = PublisherRequests.Answer
    typealias Reply = PublisherRequests.Reply

    /// Creates a publisher that tracks nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: The identity at the broker and the settings. ``configure(_:)`` changes settings later.
    ///   - transport: The connection to the broker. The publisher runs and closes it.
    ///   - spool: The log, which holds records until they are acknowledged. The default holds the last 100,000 records
    ///     in memory, and loses them when the program ends.
    ///   - policy: Decides the resolutions of trackables. It is called on the transport's thread, so it must not block.
    ///   - logger: Receives the publisher's log messages.
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

    // MARK: - Trackables

    /// Tracks a trackable from now on. Does nothing when the trackable is tracked already.
    ///
    /// - Parameter trackable: The name and the settings of the trackable.
    public func add(_ trackable: Trackable) {
        self.checkMetadata(of: trackable)
        self.mailbox.post(.add(trackable))
    }

    /// Tracks a trackable, as ``add(_:)`` does, and also makes it the ``active`` trackable.
    ///
    /// - Parameter trackable: The id and the settings of the trackable.
    public func track(_ trackable: Trackable) {
        self.shared.withLock { $0.active = trackable.id }
        self.add(trackable)
    }

    /// Changes the settings of a tracked trackable: its destination, its constraints on resolutions, its update filter,
    /// or its metadata. Does nothing when the trackable is not tracked.
    ///
    /// - Parameter trackable: The id of the trackable, and all settings from now on.
    public func change(_ trackable: Trackable) {
        self.checkMetadata(of: trackable)
        self.mailbox.post(.change(trackable))
    }

    /// Stops tracking a trackable: clears its presence and resolution and ends its trip. The retained position
    /// remains. No further states are delivered for it.
    ///
    /// Records that were not sent stay in the log, and are sent once the trackable is tracked again. A log in memory
    /// ends with the program, so call ``flush(_:)`` first.
    ///
    /// - Parameter id: The name of the trackable. Does nothing when the trackable is not tracked.
    public func remove(_ id: TrackableID) {
        self.shared.withLock { if $0.active == id { $0.active = nil } }
        self.mailbox.post(.remove(id))
    }

    /// Begins a trip of a trackable. Points that are recorded during the trip contain its id.
    ///
    /// - Parameters:
    ///   - mode: The kind of the trip.
    ///   - id: The id of a tracked trackable.
    /// - Returns: The trip as it begins.
    /// - Throws: `tripUnderWay` when a trip exists already; `invalidName` when the trackable is not tracked; `stopped`,
    ///   also when the wait is cancelled: the trip begins nevertheless.
    public func startTrip(_ mode: TripMode, of id: TrackableID) async throws(TrackingError) -> Trip {
        try await self.trip { .trip(id, mode, request: $0) }
    }

    /// Ends the current trip of a trackable.
    ///
    /// - Parameter id: The id of a tracked trackable.
    /// - Returns: The trip with its end.
    /// - Throws: `noTrip` when there is no trip; `invalidName` when the trackable is not tracked; `stopped`, also when
    ///   the wait is cancelled: the trip ends nevertheless.
    public func stopTrip(of id: TrackableID) async throws(TrackingError) -> Trip {
        try await self.trip { .trip(id, nil, request: $0) }
    }

    private func trip(
        _ event: @Sendable (UInt64) -> PublisherStateMachine.Event
    ) async throws(TrackingError) -> Trip {
        guard case .trip(let trip) = try await self.request(event).get() else {
            throw TrackingError(
                .stopped,
                "cannot change the trip of the trackable: the publisher ended before it answered. Make a new publisher."
            )
        }
        return trip
    }

    /// Begins to send pending records from the log now, and returns at once. ``sendNow()`` and ``flush(_:)`` also wait
    /// until they are acknowledged.
    ///
    /// - Parameter all: `true` sends all pending records, `false` one batch of each trackable.
    public func sendRecords(all: Bool) { self.mailbox.post(.sendRecords(all: all)) }

    /// The trackable that was last made the active one, by ``track(_:)-(Trackable)`` or by changing to another
    /// trackable; `nil` if it was removed since.
    public var active: TrackableID? { self.shared.withLock { $0.active } }

    /// The publishing state of a trackable (`OFFLINE`, `ONLINE` and so on); `nil` when the trackable is not tracked.
    public func state(of id: TrackableID) -> PublisherState? { self.shared.withLock { $0.states[id] } }

    // MARK: - Input

    /// Publishes a position, and returns when everything published so far was acknowledged.
    ///
    /// Use this function to publish a recording faster than real time, so that no position is skipped. It returns early
    /// when the broker rejects this device, or every trackable of it, because waiting does not help then. A
    /// cancellation ends only the wait: the position is published nevertheless. It rejects the same positions as
    /// ``publish(_:raw:)``.
    ///
    /// - Parameters:
    ///   - fix: The position.
    ///   - raw: The position as the receiver measured it, before any correction; `nil` when it is the same.
    public func publishAndWait(_ fix: Location, raw: Location? = nil) async {
        await self.mailbox.postAndWait(.fix(fix, raw: raw ?? fix))
    }

    /// Passes a position to the publisher, and returns at once. The publisher records and publishes the position as its
    /// filters decide.
    ///
    /// A position with an impossible time (see ``/TrackingCore/WireLimits/allows(_:)``) is rejected, for example when
    /// its time is in milliseconds in place of seconds. It is logged, and counted in ``refusedFixes``.
    ///
    /// - Parameters:
    ///   - fix: The position.
    ///   - raw: The position as the receiver measured it, before any correction; `nil` when it is the same.
    public func publish(_ fix: Location, raw: Location? = nil) { self.mailbox.post(.fix(fix, raw: raw ?? fix)) }

    /// Waits until every position that was published before is written to the log, or writing it has failed.
    ///
    /// A program that reads positions faster than the disk writes can call this function periodically. It thereby
    /// limits the memory of positions that are not written yet.
    public func publishedIsLogged() async {
        // The log works in order, so this follows everything that was published.
        await self.mailbox.postAndWait(.timer)
        try? await self.log.inquire { (_) throws(TrackingError) in }
    }

    /// Sets the charge of the device's battery. The publisher adds it to fixes, reports a low battery as an event, and
    /// adapts resolutions to it.
    ///
    /// - Parameter percent: The charge in percent, 0…100; `nil` if it is unknown.
    public func batteryRead(_ percent: Double?) { self.mailbox.post(.battery(percent)) }

    /// Ends the publisher in order: publishes the last fix, waits until everything is acknowledged, withdraws the
    /// presence of every trackable, and lets ``run()`` return.
    ///
    /// A wait before the next attempt to connect ends at once. A trackable that the broker rejected is tried once more.
    ///
    /// - Parameter limit: The longest time until ``run()`` returns, ≥ 0 s, not counting one more second for the goodbye
    ///   to the broker; `nil` is no limit.
    public func finish(within limit: Duration? = nil) {
        self.mailbox.post(.stop(by: limit.map { self.clock.moment.now.advanced(by: $0) }))
    }

    // MARK: - Running

    /// Runs the publisher until ``finish(within:)``, a graceful shutdown, or cancellation. Call this function once.
    ///
    /// - Throws: `takenOver` when another program uses the client id; `spoolFailed` when the log cannot be opened.
    ///   After ``finish(within:)``, it throws the broker's reason if the broker rejected this device or a trackable and
    ///   positions were therefore never sent.
    public func run() async throws {
        do {
            let contents = try await self.spool.open(now: self.clock.moment.wall)
            LogWorker.deliver(contents, self.logger)
            await withTaskExecutorPreference(self.transport.executor) { await self.work(contents) }
            self.end()
        } catch {
            self.end()
            // Every earlier request to the log gets an answer.
            self.log.finish()
            await self.log.run { _, _ in }
            throw error
        }
        try await self.spool.close()
        if let failure = self.shared.withLock({ $0.failure }) { throw failure }
    }

    /// Runs three tasks until the publisher ends: one that handles its events, the connection to the broker, and the
    /// writer of the log. The tasks run on the transport's executor. If the log has an executor of its own, the writer
    /// of the log runs on that executor.
    @concurrent
    private func work(_ contents: SpoolContents) async {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                let logging: @Sendable @concurrent () async -> Void = {
                    await self.log.run { self.mailbox.post(.log($0, $1)) }
                }
                // A task without a preference inherits one. A task with the preference `nil` has none.
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

    /// Passes each event of the publisher to its state machine, in order, and performs the resulting actions. The state
    /// machine is a local variable, so no other task can reach it.
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
            if !waiting.isEmpty, machine.readiness.isReadyForNextFix {
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
        let records = machine.table.recordCount
        self.shared.withLock { $0.recordsAtEnd = records }
        inbox.close()
    }

    private func perform(_ action: PublisherStateMachine.Action) {
        switch action {
        case .log, .limitsChanged: break  // asked together, before anything else
        case .eventRecorded(let id, let event):
            self.streams.events.deliver(TrackableEvent(trackable: id, event: event))
        case .tripChanged(_, let trip): self.streams.trips.deliver(trip)
        case .answered(let request, let answer):
            self.shared.withLock { $0.requests.remove(request) }?(.answered(answer))
        case .progressed(let request, let done, let total):
            self.shared.withLock { $0.requests.receiver(of: request) }?(.progressed(done: done, total: total))
        case .commanded(let command):
            self.logger.debug(
                "Publisher received a command for a trackable from the broker",
                metadata: ["trackable": "\(command.trackable)", "name": "\(command.command.name.rawValue)"])
            self.streams.commands.deliver(command)
        case .commandsRefused(let id, let error):
            self.logger.warning(
                "Broker rejected the subscription to a trackable's commands: the publisher receives none of them, and subscribes again later. Grant the right at the broker, for example with broker/add-device",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .journeyRefused(let id, let error):
            self.logger.warning(
                "Broker rejected the subscription to the journey of a trackable, or a journey that the publisher published: the publisher uses the straight line to the destination, and tries again later. Grant the right at the broker, for example with broker/add-device",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .logFailed(let id, let error):
            guard let suppressed = self.mayWarn(of: error) else { return }
            self.logger.error(
                "Records could not be written to the device's log: they are not sent to recorders in batches, but the positions among them may still be published live. Free space on the disk, or follow the reason",
                metadata: ["trackable": "\(id)", "reason": "\(error)", "not logged": "\(suppressed)"])
        case .numbersReused(let id, let stream):
            self.logger.warning(
                "Device's log was restored from an older copy: the publisher ends the log's stream and begins a new one, so that it uses no record number twice",
                metadata: ["trackable": "\(id)", "ended stream": "\(stream)"])
        case .recordsRefused(let id, let error):
            self.logger.warning(
                "Broker rejected a batch of records: the records stay in the device's log and are sent again. Grant the right at the broker, for example with broker/add-device, or follow the reason",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .send(let commands): self.transport.send(commands)
        case .useSensorResolution(let resolution):
            self.shared.withLock { $0.sensor = resolution }
            self.streams.sensorResolutions.deliver(resolution)
        case .stateChanged(let id, let state, let reason):
            self.deliverTrackables { $0.stateChanged(id, state, reason: reason) }
            self.logger.debug(
                "Publishing state of a trackable changed",
                metadata: ["trackable": "\(id)", "state": "\(state.rawValue)"])
            self.streams.states.deliver(TrackableStateChange(trackable: id, state: state, reason: reason))
        case .fixRefused(let error):
            self.refused.add(1, ordering: .relaxed)
            guard let suppressed = self.mayWarn(of: error) else { return }
            self.logger.warning(
                "Invalid fix rejected: the position source delivered it with an impossible time, and the publisher neither publishes nor records it. Check the position source",
                metadata: ["reason": "\(error)", "not logged": "\(suppressed)"])
        case .extraLeftOut(let error):
            guard let suppressed = self.mayWarn(of: error) else { return }
            self.logger.warning(
                "Fix has invalid extra members or an invalid trip id: the publisher removes all extra members and an invalid trip id, and uses the rest of the fix. Correct the program that makes the fixes",
                metadata: ["reason": "\(error)", "not logged": "\(suppressed)"])
        case .captured(let id, let fix, let verdict):
            self.streams.fixes.deliver(CapturedFix(trackable: id, fix: fix, verdict: verdict))
        case .resolutionChanged(let id, let inForce):
            self.streams.resolutions.deliver(TrackableResolutionChange(trackable: id, inForce: inForce))
        case .badMessage(let topic, let error):
            self.bad.skipped(topic, error, now: self.clock.moment.now)
        case .connectionChanged(let disconnection): self.streams.connections.deliver(disconnection)
        case .removed(let id): self.deliverTrackables { $0.removed(id) }
        case .givenUp(let id, let error):
            self.shared.withLock { $0.gaveUp(id, error) }
            self.logger.error(
                "Publisher stopped before all positions of a trackable were sent, because the broker rejected them: records in a log on the disk are sent after the next start. Follow the reason, then start the program again",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        }
    }

    private func mayWarn(of error: TrackingError) -> Int? {
        let now = self.clock.moment.now
        return self.shared.withLock { $0.mayWarn(of: error, now: now) }
    }

    /// Ends every event stream of the publisher, and answers every open request with the error `stopped`.
    private func end() {
        self.mailbox.close()
        for receiver in self.shared.withLock({ $0.requests.end() }) { receiver(.answered(.failure(.publisherEnded))) }
        self.streams.finish()
    }
}
