public import Logging
public import ServiceLifecycle
import Synchronization
public import TrackingCore
import TrackingRuntime

/// Receives the positions of trackables from the broker, lets a routing engine match them with roads, and publishes the
/// positions on the road on the topics `tracking/{id}/enhanced`. For trackables with a journey, it publishes the
/// estimated arrival times on the topics `tracking/{id}/estimate`.
///
///     let enhancer = Enhancer(configuration: configuration, engine: engine, transport: transport)
///     try await enhancer.run()
///
/// A lost connection or an unavailable engine never throws. Without the engine, positions are published as the devices
/// send them.
public final class Enhancer<Transport: MessageTransport>: Service {
    private let configuration: EnhancerConfiguration
    private let engine: any RoadEngine
    private let transport: Transport
    private let logger: Logger
    private let clock = DeviceClock()
    private let mailbox = Mailbox<EnhancerStateMachine.Event>()
    private let deliveries = Broadcast<EnhancerEvent>(buffer: 1024, bytes: 1_024 * 1_024, size: { _ in 256 })
    private let failure = Mutex<TrackingError?>(nil)
    private let bad: BadMessages
    private let metrics = EnhancerMetrics()

    /// Creates an enhancer that is not running yet.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the enhancer.
    ///   - engine: The routing engine. The enhancer does not close it.
    ///   - transport: The connection to the broker. Its client id is that of the configuration.
    ///   - logger: The logger for changes of the enhancer's state and for failures.
    public init(
        configuration: EnhancerConfiguration, engine: any RoadEngine, transport: Transport,
        logger: Logger = Logger(label: "godwit.enhancer")
    ) {
        self.configuration = configuration
        self.engine = engine
        self.transport = transport
        self.logger = logger
        self.bad = BadMessages(logger: logger)
    }

    /// A new stream of this enhancer's events, beginning with the next event. A reader that falls behind by more than
    /// 1,024 events loses the oldest ones.
    public var events: AsyncStream<EnhancerEvent> { self.deliveries.listen() }

    /// Requests an orderly stop: the enhancer publishes the positions that wait for the engine, and its goodbye.
    /// ``run()`` returns afterwards.
    public func finish() { self.mailbox.post(.stop) }

    /// Publishes positions on the road until ``finish()`` is called, the service is shut down gracefully, or the task
    /// is cancelled. Call it once.
    ///
    /// - Throws: `takenOver` when another program uses the enhancer's client id.
    public func run() async throws {
        await withTaskExecutorPreference(self.transport.executor) { await self.work() }
        self.deliveries.finish()
        if let failure = self.failure.withLock({ $0 }) { throw failure }
    }

    /// Runs the connection, the state machine and the requests to the engine on the transport's executor, until the
    /// connection is closed.
    @concurrent
    private func work() async {
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.transport.run() }
                group.addTask {
                    for await events in self.transport.events {
                        await self.mailbox.postAndWait(events) { .transport([$0]) }
                    }
                }
                await self.decide(&group)
                group.cancelAll()
            }
        } onGracefulShutdown: {
            self.finish()
        }
    }

    /// Feeds all events to the state machine and performs its actions, until the connection is closed. The machine is a
    /// local variable, so that no other task can change it.
    private func decide(_ group: inout DiscardingTaskGroup) async {
        var machine = EnhancerStateMachine(configuration: self.configuration)
        var alarm = Alarm()
        var inbox = Inbox(self.mailbox)
        while let envelope = await inbox.next() {
            for action in machine.happened(envelope.event, at: self.clock.moment) { self.perform(action, &group) }
            self.metrics.count(machine.takeFigures())
            self.metrics.note(trackables: machine.trackableCount, isEngineAway: machine.isEngineAway)
            envelope.receipt?.resume()
            if machine.isClosed { break }
            if let deadline = alarm.arm(machine.nextDeadline, now: self.clock.moment.now) {
                group.addTask {
                    await self.clock.sleep(until: deadline)
                    self.mailbox.post(.timer)
                }
            }
        }
        let failure = machine.failure
        self.failure.withLock { $0 = failure }
        inbox.close()
    }

    private func perform(_ action: EnhancerStateMachine.Action, _ group: inout DiscardingTaskGroup) {
        switch action {
        case .send(let commands): self.transport.send(commands)
        case .match(let number, let request): group.addTask { await self.match(number, request) }
        case .route(let number, let request): group.addTask { await self.route(number, request) }
        case .deliver(let event):
            self.log(event)
            self.metrics.happened(event)
            self.deliveries.deliver(event)
        }
    }

    private func match(_ number: Int, _ request: MatchRequest) async {
        let start = self.clock.moment.now
        let result: Result<RoadMatch, TrackingError>
        do throws(TrackingError) {
            result = .success(try await self.engine.match(request))
        } catch {
            result = .failure(error)
        }
        let isFailure = if case .failure(let error) = result { error.code != .noRoad } else { false }
        self.metrics.answered(isFailure: isFailure, after: start.duration(to: self.clock.moment.now))
        self.mailbox.post(.answered(number, result))
    }

    private func route(_ number: Int, _ request: RouteRequest) async {
        let result: Result<Route, TrackingError>
        do throws(TrackingError) {
            result = .success(try await self.engine.route(request))
        } catch {
            result = .failure(error)
        }
        self.mailbox.post(.routed(number, result))
    }

    private func log(_ event: EnhancerEvent) {
        switch event {
        case .connected:
            self.logger.info(
                "Enhancer is connected to the broker: it matches positions with roads and publishes the result")
        case .disconnected(let lost):
            guard !lost.isRenewal else { return }
            self.logger.info(
                "Enhancer has no connection to the broker: it publishes nothing, and tries to connect again",
                metadata: ["reason": "\(lost.reason.map { "\($0)" } ?? "closed")"])
        case .subscriptionRefused(let filter, let error):
            self.logger.error(
                "Broker rejected a subscription of the enhancer: it does not receive the positions that match the filter, and does not match them with roads. Grant the right with broker/add-enhancer",
                metadata: ["filter": "\(filter)", "reason": "\(error)"])
        case .publishRefused(let id, let error):
            self.logger.error(
                "Broker rejected a position or an estimate that the enhancer published: subscribers do not receive it. Grant the right with broker/add-enhancer",
                metadata: ["trackable": "\(id)", "reason": "\(error)"])
        case .badMessage(let topic, let error): self.bad.skipped(topic, error, now: self.clock.moment.now)
        case .engineAway(let error, let retry):
            self.logger.warning(
                "Routing engine is away: the enhancer publishes positions as the devices send them, and asks the engine again. Check that the engine runs",
                metadata: ["reason": "\(error)", "retry in": "\(retry)"])
        case .engineBack(let time):
            self.logger.notice(
                "Routing engine answers again: positions are matched with roads", metadata: ["away for": "\(time)"])
        case .groupChanged(let members):
            self.logger.notice(
                "Enhancer group changed: the members divide the trackables among themselves",
                metadata: ["members": "\(members.map(\.rawValue).joined(separator: ", "))"])
        case .failed(let error):
            self.logger.error(
                "Enhancer stops because of an error that it cannot recover from: it publishes nothing more. Follow the reason, then start it again",
                metadata: ["reason": "\(error)"])
        }
    }
}
