import GodwitOptions
import Logging
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// What is asked of the agent while it runs.
extension RunningAgent: AgentControl {
    func status() async -> AgentStatus {
        let publisher = try? self.running().publisher
        let snapshot = await publisher?.snapshot()
        let figures = await publisher?.logFigures()
        return AgentStatus(self.plan, snapshot, figures, now: TimeText.now)
    }

    func respond() async -> String? {
        guard let publisher = try? self.running().publisher else { return nil }
        if publisher.isOpeningLog { return "opening the log" }
        _ = await publisher.snapshot()
        return nil
    }

    func setOn(_ isOn: Bool) async throws(CommandFailure) {
        try await self.adopt(try self.planned { try $0.switched(isOn: isOn) })
        self.logger.info("switched", metadata: ["on": "\(isOn)"])
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
        // Nothing is given up for what is carried alone already.
        guard self.plan.trackables.map(\.id) != [id] else { return }
        let carried = [AgentSettings.Carried(id: id, destination: self.plan.carried.first { $0.id == id }?.destination)]
        let bound = try self.planned { try $0.carrying(carried) }
        do throws(TrackingError) {
            if unsent == .send {
                // All but the last of it before what is read has to wait.
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
        // Sending takes time, in which other things may have changed.
        self.plan = try self.planned { try $0.carrying(carried) }
        do throws(TrackingError) { try self.file.write(self.plan.settings) } catch {
            throw CommandFailure(.failed, "'\(id)' is carried now, but not after a restart: \(error.message)")
        }
    }

    // MARK: - Trips

    func startTrip(mode: String?, of trackable: TrackableID?) async throws(CommandFailure) -> Trip {
        let publisher = try self.runningOn()
        let id = try self.carriedOne(trackable)
        do throws(TrackingError) {
            let mode = if let mode { try TripMode(mode) } else { try self.plan.tripMode }
            return try await publisher.startTrip(mode, of: id)
        } catch {
            throw CommandFailure(error)
        }
    }

    func stopTrip(of trackable: TrackableID?) async throws(CommandFailure) -> Trip {
        let publisher = try self.runningOn()
        let id = try self.carriedOne(trackable)
        do throws(TrackingError) { return try await publisher.stopTrip(of: id) } catch { throw CommandFailure(error) }
    }

    /// The trackable that is meant: the one named, or the only one.
    private func carriedOne(_ id: TrackableID?) throws(CommandFailure) -> TrackableID {
        let carried = self.plan.trackables.map(\.id)
        if let id {
            guard carried.contains(id) else { throw Self.unknown(id) }
            return id
        }
        guard carried.count == 1 else {
            throw CommandFailure(
                .invalidArguments,
                carried.isEmpty
                    ? "nothing is carried; add a trackable first"
                    : "\(carried.count) trackables are carried: name one of them")
        }
        return carried[0]
    }

    private static func unknown(_ id: TrackableID) -> CommandFailure {
        CommandFailure(.unknownTrackable, "the agent does not carry '\(id)'")
    }

    // MARK: - What is carried

    func track(_ id: TrackableID, destination: Coordinate?, isOnly: Bool) async throws(CommandFailure) {
        var carried = self.plan.carried
        if isOnly { carried.removeAll { $0.id != id } }
        if let place = carried.firstIndex(where: { $0.id == id }) {
            if let destination { carried[place].destination = destination }
        } else {
            carried.append(.init(id: id, destination: destination))
        }
        try await self.adopt(try self.planned { try $0.carrying(carried) })
    }

    func remove(_ id: TrackableID) async throws(CommandFailure) {
        let carried = self.plan.carried
        guard carried.contains(where: { $0.id == id }) else { throw Self.unknown(id) }
        try await self.adopt(try self.planned { try $0.carrying(carried.filter { $0.id != id }) })
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
            (id: try self.carriedOne(nil), place: try LiveSettings.destination(text))
        }
        let last = self.plan
        let next: AgentPlan
        do throws(CommandFailure) {
            next = try self.planned { plan in
                let moved = try destination.map { try plan.going($0.id, to: $0.place) } ?? plan
                return try moved.setting(values)
            }
        } catch {
            throw CommandFailure(error.code, LiveSettings.withoutUntold(error.message, values))
        }
        if isFromAfar, last.run.controls.allowCommands != .unrestricted {
            try RemoteConfigurationRule.check(from: try OwnerProtection(last), to: try OwnerProtection(next))
        }
        try await self.adopt(next)
        var changes = LiveSettings.changes(of: values.keys, from: last.options, to: next.options)
        if last.carried != next.carried { changes.append(.init(key: "destination", before: nil, after: nil)) }
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
            }
        } catch {
            throw CommandFailure(error)
        }
        do throws(CommandFailure) {
            let next = try self.planned { plan in
                let carried = setup.trackable.map { [AgentSettings.Carried(id: $0)] }
                let next = try (carried.map { try plan.carrying($0) } ?? plan).setting(values)
                // Whatever is wrong with it is found out before anything is given up for it.
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
