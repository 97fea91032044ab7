import GodwitOptions
import Logging
import ServiceLifecycle
import Synchronization
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher
import TrackingRuntime

/// Joins the publisher with the device's sources and battery, and ends them together.
struct Device: Sendable {
    let publisher: AssetPublisher<MQTTTransport>
    /// Who the publisher is to the broker.
    let identity: Identity
    let power: Power
    let sources: SourceRunner
    /// Whether a recording is read faster than it was made: nothing of it may be passed over.
    let isBulkRead: Bool
    let battery: (any BatterySource)?
    let failsFast: Bool
    /// The network whose name rides along with each point; `nil`: none does.
    let wireless: WirelessNetwork?
    /// Who is told each event; `nil`: nobody is.
    let notifier: Notifier?

    private let logger = Logger(label: "godwit.agent")

    /// A device as the options say.
    ///
    /// - Throws: What the rules of sources and batteries say.
    init(publisher: AssetPublisher<MQTTTransport>, identity: Identity, power: Power, run: Run) throws {
        self.publisher = publisher
        self.identity = identity
        self.power = power
        let pace = try ReplayPace.parse(run.speed)
        self.sources = SourceRunner(try run.source.map { try SourceSpecification.parse($0).makeSource(pace: pace) })
        self.isBulkRead = pace == .maximum
        self.battery = try BatterySpecification.parse(run.battery).makeSource()
        self.failsFast = run.broker.failFast
        self.wireless = run.capture.wifi ? WirelessNetwork() : nil
        self.notifier = run.notify.map { Notifier($0) }
    }

    private enum Part { case told, waited }

    /// Runs until the source ends, a shutdown is asked for, or going on makes no sense; then the program that is told events
    /// is given a little more time.
    ///
    /// - Throws: What ended it, where that is not an orderly end.
    func run(_ dispatcher: ControlDispatcher) async throws {
        let ending = Ending()
        // Listening begins before anything runs, so that nothing is missed.
        let events = self.notifier.map { _ in self.publisher.trackingEvents }
        await withTaskGroup(of: Part.self) { group in
            guard let notifier = self.notifier, let events else { return await self.track(dispatcher, ending) }
            group.addTask {
                await notifier.run(events) { self.publisher.lostTrackingEvents }
                return .told
            }
            await self.track(dispatcher, ending)
            group.addTask {
                try? await Task.sleep(for: Notifier.farewell)
                return .waited
            }
            let first = await group.next()
            // What is left is counted, for which its task must not be cancelled.
            if first == .waited { notifier.leave() } else { group.cancelAll() }
        }
        if let error = ending.error { throw error }
    }

    private func track(_ dispatcher: ControlDispatcher, _ ending: Ending) async {
        let connections = self.publisher.connectionChanges
        let resolutions = self.publisher.sensorResolutions
        let states = self.publisher.states
        let commands = self.publisher.commands
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    if try await self.readWhileOn() { self.publisher.finish() }
                } catch {
                    ending.note(error)
                    self.publisher.finish(within: .seconds(5))
                }
            }
            group.addTask { for await resolution in resolutions { await self.sources.use(resolution) } }
            group.addTask { await self.battery?.run { event in self.heard(event) } }
            group.addTask {
                guard let error = await self.fatal(connections) else { return }
                ending.note(error)
                self.publisher.finish(within: .zero)
            }
            group.addTask { await self.watch(states, ending) }
            group.addTask { await RemoteCommands(self.publisher, dispatcher).run(commands) }
            do { try await self.publisher.run() } catch {
                // Asked to end, it did: what the broker or another publisher took away of it was told when that happened.
                let isRefusal = (error as? TrackingError)?.exitCode == .refused
                if !(isRefusal && Task.isShuttingDownGracefully) { ending.note(error) }
            }
            group.cancelAll()
        }
    }

    /// Reads the sources whenever the agent is on, until they end by themselves: then, and only then, the answer is `true`.
    private func readWhileOn() async throws -> Bool {
        while !Task.isCancelled {
            await self.power.wait(untilOn: true)
            let haveEnded = try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask {
                    try await self.readSources()
                    return !Task.isCancelled
                }
                group.addTask {
                    await self.power.wait(untilOn: false)
                    return false
                }
                defer { group.cancelAll() }
                return try await group.next() ?? false
            }
            if haveEnded { return true }
        }
        return false
    }

    /// How many fixes of what can wait, a file or a pipe, may be on their way to the log.
    private static let unloggedFixes = 256

    private func readSources() async throws(TrackingError) {
        let count = Mutex(0)
        let warnings = Mutex(WarningLimit<Int>())
        defer {
            let unsaid = warnings.withLock { $0.takeUnsaid() }
            if unsaid > 0 { self.logger.warning("more input was refused", metadata: ["unsaid": "\(unsaid)"]) }
        }
        try await self.sources.run { event in
            switch event {
            case .fix(let measured):
                let fix = measured.addingWireless(self.wireless?.name)
                guard !self.isBulkRead else { return await self.publisher.publishAndWait(fix) }
                self.publisher.publish(fix)
                guard self.sources.facts.isFinite else { return }
                let isMany = count.withLock { count in
                    count = (count + 1) % Self.unloggedFixes
                    return count == 0
                }
                if isMany { await self.publisher.publishedIsLogged() }
            case .badInput(let what):
                let verdict = warnings.withLock { $0.happened(0, now: SourceClock.now) }
                guard case .say(let unsaid) = verdict else { return }
                self.logger.warning("input refused", metadata: ["what": "\(what)", "unsaid": "\(unsaid)"])
            case .notice(let notice):
                self.heard(notice)
            }
        }
    }

    private func heard(_ notice: SourceNotice) {
        switch notice {
        case .selected(let source):
            self.logger.info("source selected", metadata: ["source": "\(source)"])
        case .lost(let source, let reason):
            self.logger.warning("source lost", metadata: ["source": "\(source)", "reason": "\(reason)"])
            self.publisher.tell(.sourceLost, ["source": .text(source), "reason": .text(reason.message)])
        case .found(let source):
            self.logger.info("source found", metadata: ["source": "\(source)"])
        case .dateCorrected(let source, let rollovers):
            self.publisher.tell(
                .clockJump,
                ["source": .text(source), "weeks": .number(Double(rollovers) * 1024), "corrected": .flag(true)])
        case .dateSuspect(let source, let rollovers):
            self.publisher.tell(
                .clockJump,
                ["source": .text(source), "weeks": .number(Double(rollovers) * 1024), "corrected": .flag(false)])
        }
    }

    private func heard(_ event: BatteryEvent) {
        switch event {
        case .level(let percent): self.publisher.batteryRead(percent)
        case .badInput(let what): self.logger.warning("battery", metadata: ["what": "\(what)"])
        }
    }

    /// Waits for what ends the program where `--fail-fast` asks for it.
    private func fatal(_ connections: AsyncStream<Disconnection?>) async -> TrackingError? {
        for await change in connections {
            if self.failsFast, let reason = change?.failure { return reason }
        }
        return nil
    }

    /// Ends the program when every trackable failed, since nothing could be sent any more; with `--fail-fast` when the broker
    /// refuses one.
    private func watch(_ states: AsyncStream<TrackableStateChange>, _ ending: Ending) async {
        var last: [TrackableID: PublisherState] = [:]
        for await change in states {
            last[change.trackable] = change.state
            if let reason = change.reason {
                self.logger.warning(
                    "state",
                    metadata: [
                        "trackable": "\(change.trackable)", "state": "\(change.state.rawValue)", "reason": "\(reason)",
                    ])
            }
            if self.failsFast, let reason = change.reason, reason.isRefusal {
                ending.note(reason)
                self.publisher.finish(within: .zero)
            }
            last = last.filter { self.publisher.state(of: $0.key) != nil }
            // What another publisher's arrival left unsent is sent first, however long that takes.
            let limit: Duration? = change.reason?.code == .takenOver ? nil : .seconds(2)
            guard !last.isEmpty, last.values.allSatisfy({ $0 == .failed }) else { continue }
            // Nobody asked for this end, also where somebody does while it takes its time.
            ending.note(change.reason)
            self.publisher.finish(within: limit)
        }
    }
}
