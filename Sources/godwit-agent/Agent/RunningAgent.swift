import ArgumentParser
import FoundationEssentials
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// A running agent. It reads the sources of positions and publishes the positions, as its plan (the settings in force)
/// describes. Commands change the plan.
///
/// A change of the broker or the user ends the connection and begins a new one. Every other change takes effect in the
/// running publisher, and the connection remains. A change is written to the settings file, so that it survives a
/// restart. Most changes are written before they take effect.
actor RunningAgent: Service {
    var plan: AgentPlan
    let file: SettingsFile
    private let storage: any SpoolStorage
    private let controls: ControlOptions
    private let power: Power
    let reader: SwitchedReader
    let logger = Logger(label: "godwit.agent")
    /// The present connection to the broker and its publisher; `nil` before the first connection and between two
    /// connections.
    private var device: Device?
    /// `true` while the agent ends its present connection to the broker in order to make a new one, because the broker
    /// or the user of the plan changed.
    private var isRenewing = false
    /// The result with which reading the sources of positions ended: an error, or an inner `nil` if all sources ended
    /// without an error. The outer `nil` means that the sources are still being read.
    private var sourcesEnd: TrackingError??

    /// Makes an agent that is not connected yet, and reads the changes that were made in earlier runs.
    ///
    /// - Parameter given: The options of `godwit-agent run` as text.
    /// - Throws: `ValidationError` or `TrackingError` for an invalid option and for a log folder that cannot be
    ///   created.
    init(given: OptionValues) throws {
        let first = try AgentPlan(given: given)
        self.storage = try first.run.recording.storage(for: first.trackables)
        self.file = SettingsFile(path: try first.run.recording.settingsPath(for: first.trackables))
        self.controls = first.run.controls
        if let other = try first.run.recording.otherLog(of: first.trackables) {
            self.logger.warning(
                "Agent found the log of an earlier run that had another first --trackable: if that log has records, the agent does not send them",
                metadata: [
                    "other": "\(other)",
                    "remedy":
                        "to send its records, name its trackable as the first --trackable, or the file as --spool",
                ])
        }
        let fitted = try FittedPlan(given: given, kept: self.file.read(self.logger))
        self.plan = fitted.plan
        for misfit in fitted.misfits {
            self.logger.error(
                "Setting that was changed in an earlier run is ignored: it conflicts with the options of this start. Change the setting again, or correct the options",
                metadata: ["change": "\(misfit.change)", "reason": "\(misfit.reason)"])
        }
        self.power = Power(isOn: self.plan.settings.isOn)
        self.reader = try SwitchedReader(first.run, self.power, for: first.trackables.first?.id)
    }

    /// Runs the agent until its sources of positions end, a signal arrives, or an error makes it pointless to go on.
    ///
    /// - Throws: The error that ended the agent; nothing after an orderly end.
    func run() async throws {
        let service = ControlService(self, options: self.controls)
        let (signs, started) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { started.finish() }
                try await cancelWhenGracefulShutdown { try await service.run { started.yield() } }
            }
            // Without its control socket the agent does not start. Nothing is published before the socket is ready.
            var isListening = false
            for await _ in signs {
                isListening = true
                break
            }
            guard isListening else { return try await group.waitForAll() }
            defer { group.cancelAll() }
            self.logStart()
            try await self.live()
        }
    }

    private func logStart() {
        let run = self.plan.run
        self.logger.info(
            "Agent started: it reads its position sources and publishes, unless it is switched off",
            metadata: [
                "trackables": "\(self.plan.trackables.map(\.id.rawValue).joined(separator: " "))",
                run.forwarding.forward == nil ? "broker" : "sink": "\(run.servers)",
                "sources": "\(run.input.source.count)", "on": "\(self.plan.settings.isOn)",
            ])
    }

    /// Reads the sources of positions all the time, and meanwhile keeps a connection to the broker. After a change of
    /// the broker or the user, makes a new connection.
    private func live() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.read() }
            defer {
                self.reader.relay.finish()
                group.cancelAll()
            }
            try await self.connect()
        }
    }

    private func read() async {
        do {
            if try await self.reader.run() { self.sourcesEnded(nil) }
        } catch {
            self.sourcesEnded(error as? TrackingError ?? TrackingError(.inputUnreadable, "\(error)"))
        }
    }

    private func sourcesEnded(_ error: TrackingError?) {
        self.sourcesEnd = .some(error)
        // During a renewal, the next connection sends the remaining fixes.
        if !self.isRenewing { self.device?.sourcesEnded(error) }
    }

    private func connect() async throws {
        while true {
            self.isRenewing = false
            let device = try self.makeDevice()
            self.device = device
            defer { self.device = nil }
            self.reader.relay.connect(to: device.publisher)
            if let end = self.sourcesEnd { device.sourcesEnded(end) }
            do {
                try await device.run(ControlDispatcher(self))
            } catch {
                // During a renewal, the end of the old connection is expected, even if the broker refused the old user.
                guard self.isRenewing else { throw error }
                self.logger.info(
                    "Old connection to the broker ended with an error; the agent replaces it by a new one, because its broker or user was changed",
                    metadata: ["reason": "\(error)"])
            }
            guard self.isRenewing, !Task.isShuttingDownGracefully, !Task.isCancelled else { return }
        }
    }

    /// Ends the present connection to the broker, so that the agent makes a new one with the changed plan. Fixes that
    /// are read meanwhile are held for the new connection.
    func renew() {
        self.isRenewing = true
        // Closed before the end: fixes read from now on are for the next connection.
        self.reader.relay.disconnect()
        self.device?.publisher.finish(within: .milliseconds(2_500))
    }

    /// Runs `body` while the agent holds new fixes back from the publisher. The publisher's unsent records then do not
    /// grow, and `body` can wait until all are sent. Afterwards the held fixes go to the publisher.
    func holdingFixes(
        from publisher: AssetPublisher<AgentTransport>, _ body: () async throws(TrackingError) -> Void
    ) async throws(TrackingError) {
        self.reader.relay.disconnect()
        // If a new connection has begun or is about to, the waiting fixes are for that one.
        defer { if self.device?.publisher === publisher, !self.isRenewing { self.reader.relay.connect(to: publisher) } }
        try await body()
    }

    private func makeDevice() throws -> Device {
        let run = self.plan.run
        let identity = try run.broker.identity()
        let configuration = try self.plan.configuration(for: identity)
        let transport: AgentTransport =
            if let sink = try run.forwarding.transport(root: configuration.topicRoot) {
                .sink(sink)
            } else {
                .broker(try run.broker.transport(for: configuration))
            }
        let publisher = AssetPublisher(configuration: configuration, transport: transport, spool: self.storage)
        for trackable in self.plan.trackables { publisher.add(trackable) }
        return try Device(
            publisher: publisher, transport: transport, identity: identity, reader: self.reader.reader, run: run)
    }

    /// Returns the present connection to the broker, with its publisher.
    ///
    /// - Throws: `failed` while there is no connection, because the agent is starting, ending or connecting again.
    func running() throws(CommandFailure) -> Device {
        guard let device = self.device else {
            throw CommandFailure(
                .failed,
                "the agent cannot perform the command while it is starting, ending or changing its connection. Try again"
            )
        }
        return device
    }

    /// Returns the running publisher, if the agent is switched on.
    ///
    /// - Throws: `failed` while no publisher runs, even if the agent is switched off; otherwise `isOff` if the agent is
    ///   switched off.
    func runningOn() throws(CommandFailure) -> AssetPublisher<AgentTransport> {
        let device = try self.running()
        guard self.plan.settings.isOn else {
            throw CommandFailure(.isOff, "the agent is off. Switch it on with godwit-agent on")
        }
        return device.publisher
    }

    // MARK: - Changing the plan

    /// Returns a new plan, which `make` derives from the agent's present plan. A plan is all settings that the agent
    /// follows. If `make` throws an error, the command that the agent performs fails with this error.
    func planned(_ make: (AgentPlan) throws -> AgentPlan) throws(CommandFailure) -> AgentPlan {
        try self.withCommandFailures { try make(self.plan) }
    }

    /// Runs `make` and converts its errors to failures of the command that the agent performs. An error of any type but
    /// `CommandFailure` and `TrackingError` becomes `invalidArguments`.
    private func withCommandFailures<Value>(_ make: () throws -> Value) throws(CommandFailure) -> Value {
        do {
            return try make()
        } catch let failure as CommandFailure {
            throw failure
        } catch let error as TrackingError {
            throw CommandFailure(error)
        } catch {
            throw CommandFailure(.invalidArguments, Run.message(for: error))
        }
    }

    /// Writes a plan to the settings file and then puts it into effect. If the file cannot be written, the old plan
    /// remains in effect. There is one exception: a plan that may hide positions takes effect even if it cannot be
    /// written.
    ///
    /// - Throws: The failure of the command. An unwritable file is a failure even if the plan took effect.
    func adopt(_ next: AgentPlan) async throws(CommandFailure) {
        let device = try self.running()
        let configuration = try self.withCommandFailures { try next.configuration(for: device.identity) }
        do throws(TrackingError) { try self.file.write(next.settings) } catch {
            guard next.mayHide(from: self.plan) else { throw CommandFailure(error) }
            await self.apply(next, configuration, on: device)
            throw CommandFailure(
                .failed,
                "the change is in effect now, but a restart undoes it, because it cannot be saved: \(error.message)")
        }
        await self.apply(next, configuration, on: device)
    }

    private func apply(_ next: AgentPlan, _ configuration: PublisherConfiguration, on device: Device) async {
        let last = self.plan
        self.plan = next
        // Power is switched off first, so that no further fix is published, and switched on last.
        if !next.settings.isOn { self.power.isOn = false }
        await device.publisher.configure(configuration)
        Self.replace(last.trackables, with: next.trackables, in: device.publisher)
        self.power.isOn = self.plan.settings.isOn
    }

    private static func replace(
        _ last: [Trackable], with next: [Trackable], in publisher: AssetPublisher<AgentTransport>
    ) {
        let before = Dictionary(last.map { ($0.id, $0) }) { first, _ in first }
        let after = Set(next.map(\.id))
        for trackable in last where !after.contains(trackable.id) { publisher.remove(trackable.id) }
        for trackable in next {
            if before[trackable.id] == nil {
                publisher.add(trackable)
            } else if before[trackable.id] != trackable {
                publisher.change(trackable)
            }
        }
    }
}
