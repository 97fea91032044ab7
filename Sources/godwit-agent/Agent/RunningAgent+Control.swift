import GodwitOptions
import Logging
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// The commands that a running agent performs, from its control socket and from the broker.
extension RunningAgent: AgentControl {
    func status() async -> AgentStatus {
        let publisher = try? self.running().publisher
        let snapshot = await publisher?.snapshot()
        let figures = await publisher?.logFigures()
        var status = AgentStatus(self.plan, snapshot, figures, now: TimeText.now)
        status.receiverAsleepUntil = self.reader.reader.asleepUntil
        return status
    }

    func respond() async -> String? {
        guard let publisher = try? self.running().publisher else { return nil }
        if publisher.isOpeningLog { return "opening the log" }
        _ = await publisher.snapshot()
        return nil
    }

    func setOn(_ isOn: Bool) async throws(CommandFailure) {
        try await self.adopt(try self.planned { try $0.switched(isOn: isOn) })
        self.logger.info(
            isOn
                ? "Agent switched on: it records positions and publishes again"
                : "Agent switched off: it records no positions and publishes nothing until it is switched on")
    }

    func report() async throws(CommandFailure) {
        let publisher = try self.runningOn()
        do throws(TrackingError) { try await publisher.report() } catch { throw CommandFailure(error) }
    }

    // MARK: - Sending

    func sendNow() async throws(CommandFailure) -> Int {
        let publisher = try self.runningOn()
        do throws(TrackingError) { return try await publisher.sendNow() } catch { throw CommandFailure(error) }
    }

    func flush(_ progress: ControlProgress) async throws(CommandFailure) -> Int {
        let publisher = try self.runningOn()
        do throws(TrackingError) { return try await publisher.flush(progress) } catch { throw CommandFailure(error) }
    }

    func queue(limit: Int) async throws(CommandFailure) -> [SpoolEntry] {
        let publisher = try self.running().publisher
        do throws(TrackingError) { return try await publisher.waiting(limit: limit) } catch {
            throw CommandFailure(error)
        }
    }

    nonisolated func exportQueue(_ each: (SpoolEntry) async throws -> Void) async throws {
        try await self.running().publisher.exportWaiting(each)
    }

    func purgeQueue() async throws(CommandFailure) -> Int {
        let publisher = try self.running().publisher
        do throws(TrackingError) { return try await publisher.purge() } catch { throw CommandFailure(error) }
    }

    func quarantine(limit: Int) async throws(CommandFailure) -> [QuarantinedRecord] {
        let publisher = try self.running().publisher
        do throws(TrackingError) { return try await publisher.quarantined(limit: limit) } catch {
            throw CommandFailure(error)
        }
    }

    func retryQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int {
        let publisher = try self.running().publisher
        do throws(TrackingError) { return try await publisher.retryQuarantined(names) } catch {
            throw CommandFailure(error)
        }
    }

    func dropQuarantined(_ names: [RecordName]?) async throws(CommandFailure) -> Int {
        let publisher = try self.running().publisher
        do throws(TrackingError) { return try await publisher.dropQuarantined(names) } catch {
            throw CommandFailure(error)
        }
    }

    func bind(
        _ id: TrackableID, unsent: UnsentPoints, _ progress: ControlProgress
    ) async throws(CommandFailure) {
        let publisher = unsent == .send ? try self.runningOn() : try self.running().publisher
        // A trackable that is tracked alone already keeps its unsent points.
        guard self.plan.trackables.map(\.id) != [id] else { return }
        let tracked = [
            AgentSettings.TrackedTrackable(id: id, destination: self.plan.tracked.first { $0.id == id }?.destination)
        ]
        let bound = try self.planned { try $0.tracking(tracked) }
        do throws(TrackingError) {
            if unsent == .send {
                // Nearly all unsent points are sent here, so that new fixes wait only briefly below.
                _ = try await publisher.flush(progress)
                try await self.holdingFixes(from: publisher) { () async throws(TrackingError) in
                    try await publisher.bind(bound.trackables[0], unsent: unsent, progress)
                }
            } else {
                try await publisher.bind(bound.trackables[0], unsent: unsent, progress)
            }
        } catch {
            throw CommandFailure(error)
        }
        // Other commands may have changed the plan while points were sent, so the change is made to the present plan.
        self.plan = try self.planned { try $0.tracking(tracked) }
        do throws(TrackingError) { try self.file.write(self.plan.settings) } catch {
            throw CommandFailure(
                .failed,
                "'\(id)' is tracked now, but a restart undoes the change, because it cannot be saved: \(error.message)")
        }
    }

    // MARK: - Trips

    func startTrip(mode: String?, of trackable: TrackableID?) async throws(CommandFailure) -> Trip {
        let publisher = try self.runningOn()
        let id = try self.trackedOne(trackable)
        do throws(TrackingError) {
            let mode = if let mode { try TripMode(mode) } else { try self.plan.tripMode }
            return try await publisher.startTrip(mode, of: id)
        } catch {
            throw CommandFailure(error)
        }
    }

    func stopTrip(of trackable: TrackableID?) async throws(CommandFailure) -> Trip {
        let publisher = try self.runningOn()
        let id = try self.trackedOne(trackable)
        do throws(TrackingError) { return try await publisher.stopTrip(of: id) } catch { throw CommandFailure(error) }
    }

    /// Returns the given trackable; if `id` is `nil`, returns the only tracked trackable.
    ///
    /// - Throws: `unknownTrackable` if the agent does not track the given trackable; `invalidArguments` if `id` is
    ///   `nil` and the agent tracks none or several.
    private func trackedOne(_ id: TrackableID?) throws(CommandFailure) -> TrackableID {
        let tracked = self.plan.trackables.map(\.id)
        if let id {
            guard tracked.contains(id) else { throw Self.unknown(id) }
            return id
        }
        guard tracked.count == 1 else {
            throw CommandFailure(
                .invalidArguments,
                tracked.isEmpty
                    ? "the agent tracks no trackable. Add one with godwit-agent add ID"
                    : "the agent tracks \(tracked.count) trackables, and the command names none of them. Name one of them"
            )
        }
        return tracked[0]
    }

    private static func unknown(_ id: TrackableID) -> CommandFailure {
        CommandFailure(
            .unknownTrackable, "the agent does not track '\(id)'. godwit-agent status lists the tracked trackables")
    }

    // MARK: - Tracked trackables

    func track(_ id: TrackableID, destination: Coordinate?, isOnly: Bool) async throws(CommandFailure) {
        var tracked = self.plan.tracked
        if isOnly { tracked.removeAll { $0.id != id } }
        if let place = tracked.firstIndex(where: { $0.id == id }) {
            if let destination { tracked[place].destination = destination }
        } else {
            tracked.append(.init(id: id, destination: destination))
        }
        try await self.adopt(try self.planned { try $0.tracking(tracked) })
    }

    func remove(_ id: TrackableID) async throws(CommandFailure) {
        let tracked = self.plan.tracked
        guard tracked.contains(where: { $0.id == id }) else { throw Self.unknown(id) }
        try await self.adopt(try self.planned { try $0.tracking(tracked.filter { $0.id != id }) })
    }

    func setDestination(_ destination: Coordinate?, of id: TrackableID) async throws(CommandFailure) {
        try await self.adopt(try self.planned { try $0.going(id, to: destination) })
    }

    // MARK: - Settings

    func configure(
        _ settings: [String: String], isFromAfar: Bool
    ) async throws(CommandFailure) -> [SettingChange] {
        let values = try LiveSettings.values(settings, of: self.plan.options, isFromAfar: isFromAfar)
        let destination = try settings["destination"].map { (text) throws(CommandFailure) in
            (id: try self.trackedOne(nil), place: try LiveSettings.destination(text))
        }
        let last = self.plan
        let next: AgentPlan
        do throws(CommandFailure) {
            next = try self.planned { plan in
                let moved = try destination.map { try plan.going($0.id, to: $0.place) } ?? plan
                return try moved.setting(values)
            }
        } catch {
            throw CommandFailure(error.code, LiveSettings.redacted(error.message, values))
        }
        if isFromAfar, last.run.controls.allowCommands != .unrestricted {
            try RemoteConfigurationRule.check(from: try OwnerProtection(last), to: try OwnerProtection(next))
        }
        try await self.adopt(next)
        var changes = LiveSettings.changes(of: values.keys, from: last.options, to: next.options)
        if last.tracked != next.tracked { changes.append(.init(key: "destination", before: nil, after: nil)) }
        return changes
    }

    func setUp(_ request: SetupRequest, isTrial: Bool) async throws(CommandFailure) -> [SettingChange] {
        let setup = try SetupPlan(request, for: self.plan)
        guard !isTrial, !setup.changes.isEmpty else { return setup.changes }
        var values = setup.values
        let current = self.plan.options["password-file"]?.first
        do throws(TrackingError) {
            if let password = setup.password {
                values["password-file"] = [try self.file.write(password: password, besides: current)]
                // The password of the link replaces a command.
                values["password-command"] = .some(nil)
            }
        } catch {
            throw CommandFailure(error)
        }
        do throws(CommandFailure) {
            let next = try self.planned { plan in
                let tracked = setup.trackable.map { [AgentSettings.TrackedTrackable(id: $0)] }
                let next = try (tracked.map { try plan.tracking($0) } ?? plan).setting(values)
                // Every error must appear here, before unsent points or the old connection are given up.
                _ = try next.run.broker.transport(for: next.configuration(for: next.run.broker.identity()))
                return next
            }
            try await self.adopt(next)
        } catch {
            self.file.removePasswords(except: current)
            throw error
        }
        self.file.removePasswords(except: self.plan.options["password-file"]?.first)
        if setup.isNewConnection {
            self.renew()
        }
        return setup.changes
    }
}
