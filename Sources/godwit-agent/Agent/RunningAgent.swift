import ArgumentParser
import FoundationEssentials
import GodwitOptions
import Logging
import ServiceLifecycle
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// The agent as it runs: carries out a plan, and changes it while it does.
///
/// A plan that names another broker or user ends the connection and begins a new one; everything else is told to the
/// publisher that runs. What is changed is kept before it is done, so that it lasts over a restart.
actor RunningAgent: Service {
    var plan: AgentPlan
    let file: SettingsFile
    private let storage: any SpoolStorage
    private let controls: ControlOptions
    private let power: Power
    private let reader: SourceReader
    let logger = Logger(label: "godwit.agent")
    /// What runs; `nil` before, after and between.
    private var device: Device?
    /// Whether the plan asks for another connection than the one that runs.
    private var isRenewing = false
    /// What the sources ended with, `nil` being nothing wrong, once they have.
    private var sourcesEnd: TrackingError??

    /// - Parameter given: The options of `run`.
    /// - Throws: `ValidationError`, `TrackingError`.
    init(given: OptionValues) throws {
        let first = try AgentPlan(given: given)
        self.storage = try first.run.recording.storage(for: first.trackables)
        self.file = SettingsFile(path: try first.run.recording.settingsPath(for: first.trackables))
        self.controls = first.run.controls
        if let other = try first.run.recording.otherLog(of: first.trackables) {
            self.logger.warning(
                "there is another log here: this one is named after the trackable that is named first; what waits in the other is not sent",
                metadata: ["other": "\(other)", "toSendIt": "name its trackable first, or give it as --spool"])
        }
        let fitted = try FittedPlan(given: given, kept: self.file.read(self.logger))
        self.plan = fitted.plan
        for misfit in fitted.misfits {
            self.logger.error(
                "a change that was made while the agent ran does not go with what is given now, and is left out",
                metadata: ["change": "\(misfit.change)", "reason": "\(misfit.reason)"])
        }
        self.power = Power(isOn: self.plan.settings.isOn)
        self.reader = try SourceReader(first.run, self.power)
    }

    /// Runs until the source ends, a signal comes, or going on makes no sense.
    ///
    /// - Throws: What ended it, where that is not an orderly end.
    func run() async throws {
        let service = ControlService(self, options: self.controls)
        let (signs, started) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { started.finish() }
                try await cancelWhenGracefulShutdown { try await service.run { started.yield() } }
            }
            // A socket that cannot be used is no agent at all: said before anything is told to anyone.
            var isListening = false
            for await _ in signs {
                isListening = true
                break
            }
            guard isListening else { return try await group.waitForAll() }
            defer { group.cancelAll() }
            try await self.live()
        }
    }

    /// What is read outlives the connections, which come and go.
    private func live() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.read() }
            defer {
                self.reader.outlet.end()
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
        // Where another connection is about to begin, that one sends what was read.
        if !self.isRenewing { self.device?.sourcesEnded(error) }
    }

    private func connect() async throws {
        while true {
            self.isRenewing = false
            let device = try self.makeDevice()
            self.device = device
            defer { self.device = nil }
            self.reader.outlet.open(device.publisher)
            if let end = self.sourcesEnd { device.sourcesEnded(end) }
            do {
                try await device.run(ControlDispatcher(self))
            } catch {
                // What the old connection ended with, a refusal of the old user for one, is no news where another was asked for.
                guard self.isRenewing else { throw error }
                self.logger.info("the former connection", metadata: ["reason": "\(error)"])
            }
            guard self.isRenewing, !Task.isShuttingDownGracefully, !Task.isCancelled else { return }
        }
    }

    /// The connection ends, and another one begins as the plan has it.
    func renew() {
        self.isRenewing = true
        // Before the end: what is read from now on is for the next one.
        self.reader.outlet.close()
        self.device?.publisher.finish(within: .milliseconds(2_500))
    }

    /// Does something while what is read waits: no fix is added to what the publisher has to send.
    func holdingFixes(
        from publisher: AssetPublisher<MQTTTransport>, _ body: () async throws(TrackingError) -> Void
    ) async throws(TrackingError) {
        self.reader.outlet.close()
        // Where another connection is about to begin, or has begun, what waits is for that one.
        defer { if self.device?.publisher === publisher, !self.isRenewing { self.reader.outlet.open(publisher) } }
        try await body()
    }

    private func makeDevice() throws -> Device {
        let run = self.plan.run
        let identity = try run.broker.identity()
        let configuration = try self.plan.configuration(for: identity)
        let publisher = AssetPublisher(
            configuration: configuration, transport: try run.broker.transport(for: configuration), spool: self.storage)
        for trackable in self.plan.trackables { publisher.add(trackable) }
        return try Device(publisher: publisher, identity: identity, reader: self.reader, run: run)
    }

    /// What runs.
    ///
    /// - Throws: `failed` while nothing does.
    func running() throws(CommandFailure) -> Device {
        guard let device = self.device else {
            throw CommandFailure(.failed, "the agent is starting or ending; try again")
        }
        return device
    }

    /// What runs and may send.
    ///
    /// - Throws: `isOff`, `failed`.
    func runningOn() throws(CommandFailure) -> AssetPublisher<MQTTTransport> {
        let device = try self.running()
        guard self.plan.settings.isOn else { throw CommandFailure(.isOff, "the agent is off; switch it on first") }
        return device.publisher
    }

    // MARK: - Changing the plan

    /// Makes a plan, in the words of commands.
    func planned(_ make: (AgentPlan) throws -> AgentPlan) throws(CommandFailure) -> AgentPlan {
        try self.told { try make(self.plan) }
    }

    /// What went wrong with the options, in the words of commands.
    private func told<Value>(_ make: () throws -> Value) throws(CommandFailure) -> Value {
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

    /// Keeps a plan and carries it out; nothing has changed where this throws, with one exception: what may have been changed in
    /// order not to be seen is done also where it cannot be kept.
    func adopt(_ next: AgentPlan) async throws(CommandFailure) {
        let device = try self.running()
        let configuration = try self.told { try next.configuration(for: device.identity) }
        do throws(TrackingError) { try self.file.write(next.settings) } catch {
            guard next.mayHide(from: self.plan) else { throw CommandFailure(error) }
            await self.carryOut(next, configuration, on: device)
            throw CommandFailure(.failed, "done now, but not after a restart: \(error.message)")
        }
        await self.carryOut(next, configuration, on: device)
    }

    private func carryOut(_ next: AgentPlan, _ configuration: PublisherConfiguration, on device: Device) async {
        let last = self.plan
        self.plan = next
        // Off before anything else: no fix is taken that would be told. On after everything else.
        if !next.settings.isOn { self.power.isOn = false }
        await device.publisher.configure(configuration)
        Self.carry(next.trackables, insteadOf: last.trackables, device.publisher)
        self.power.isOn = self.plan.settings.isOn
    }

    private static func carry(
        _ next: [Trackable], insteadOf last: [Trackable], _ publisher: AssetPublisher<MQTTTransport>
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
