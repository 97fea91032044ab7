import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// Joins the publisher of one connection with the device's battery and whoever commands it, and ends them together.
struct Device: Sendable {
    let publisher: AssetPublisher<MQTTTransport>
    /// Who the publisher is to the broker.
    let identity: Identity
    let reader: SourceReader
    let battery: (any BatterySource)?
    let failsFast: Bool
    /// Who is told each event; `nil`: nobody is.
    let notifier: Notifier?

    private let ending = Ending()
    private let logger = Logger(label: "godwit.agent")

    /// A device as the options say.
    ///
    /// - Throws: What the rules of batteries say.
    init(publisher: AssetPublisher<MQTTTransport>, identity: Identity, reader: SourceReader, run: Run) throws {
        self.publisher = publisher
        self.identity = identity
        self.reader = reader
        self.battery = try BatterySpecification.parse(run.battery).makeSource()
        self.failsFast = run.broker.failFast
        self.notifier = run.notify.map { Notifier($0) }
    }

    private enum Part { case told, waited }

    /// The sources have ended, or broke: what was read is sent, and then ``run(_:)`` ends.
    func sourcesEnded(_ error: TrackingError?) {
        self.ending.note(error)
        self.publisher.finish(within: error == nil ? nil : .seconds(5))
    }

    /// Runs until the source ends, a shutdown is asked for, or going on makes no sense; then the program that is told events
    /// is given a little more time.
    ///
    /// - Throws: What ended it, where that is not an orderly end.
    func run(_ dispatcher: ControlDispatcher) async throws {
        // Listening begins before anything runs, so that nothing is missed.
        let events = self.notifier.map { _ in self.publisher.trackingEvents }
        await withTaskGroup(of: Part.self) { group in
            guard let notifier = self.notifier, let events else { return await self.track(dispatcher) }
            group.addTask {
                await notifier.run(events) { self.publisher.lostTrackingEvents }
                return .told
            }
            await self.track(dispatcher)
            group.addTask {
                try? await Task.sleep(for: Notifier.farewell)
                return .waited
            }
            let first = await group.next()
            // What is left is counted, for which its task must not be cancelled.
            if first == .waited { notifier.leave() } else { group.cancelAll() }
        }
        if let error = self.ending.error { throw error }
    }

    private func track(_ dispatcher: ControlDispatcher) async {
        let connections = self.publisher.connectionChanges
        let resolutions = self.publisher.sensorResolutions
        let states = self.publisher.states
        let commands = self.publisher.commands
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await resolution in resolutions { await self.reader.use(resolution) } }
            group.addTask { await self.battery?.run { event in self.heard(event) } }
            group.addTask {
                guard let error = await self.fatal(connections) else { return }
                self.ending.note(error)
                self.publisher.finish(within: .zero)
            }
            group.addTask { await self.watch(states) }
            group.addTask { await RemoteCommands(self.publisher, dispatcher).run(commands) }
            do { try await self.publisher.run() } catch {
                // Asked to end, it did: what the broker or another publisher took away of it was told when that happened.
                let isRefusal = (error as? TrackingError)?.exitCode == .refused
                if !(isRefusal && Task.isShuttingDownGracefully) { self.ending.note(error) }
            }
            group.cancelAll()
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
    private func watch(_ states: AsyncStream<TrackableStateChange>) async {
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
                self.ending.note(reason)
                self.publisher.finish(within: .zero)
            }
            last = last.filter { self.publisher.state(of: $0.key) != nil }
            // What another publisher's arrival left unsent is sent first, however long that takes.
            let limit: Duration? = change.reason?.code == .takenOver ? nil : .seconds(2)
            guard !last.isEmpty, last.values.allSatisfy({ $0 == .failed }) else { continue }
            // Nobody asked for this end, also where somebody does while it takes its time.
            self.ending.note(change.reason)
            self.publisher.finish(within: limit)
        }
    }
}
