public import TrackingCore

/// Reads what a command asks for, has it done, and says what came of it: the same for the local socket and the broker.
public struct ControlDispatcher: Sendable {
    /// Where a command came from.
    public enum Origin: Hashable, Sendable {
        /// The local socket: everything is allowed.
        case socket
        /// The command topic of a trackable, which a command means where it names none.
        case topic(TrackableID)
    }

    private let control: any AgentControl

    /// Makes a dispatcher for an agent.
    public init(_ control: any AgentControl) { self.control = control }

    /// Carries out a command from the local socket; see ``ControlServer/Handler``.
    public func answer(
        _ command: Command, say: (ControlLine) async throws -> Void
    ) async -> CommandAnswer {
        CommandAnswer(id: command.id, outcome: await self.outcome(command, .socket, say))
    }

    /// Carries out a command that came through the broker. Whether it is expired or was seen is for ``CommandGate`` to say.
    public func answer(_ command: Command, on trackable: TrackableID) async -> CommandAnswer {
        guard !Command.Name.localOnly.contains(command.name) else {
            let failure = CommandFailure(.notAllowed, "\(command.name.rawValue) is not taken from the broker")
            return CommandAnswer(id: command.id, outcome: .failure(failure))
        }
        guard Command.Name.allowedRemotely.contains(command.name) else {
            return CommandAnswer(id: command.id, outcome: .failure(Self.unknown(command)))
        }
        return CommandAnswer(id: command.id, outcome: await self.outcome(command, .topic(trackable), { _ in }))
    }

    private static func unknown(_ command: Command) -> CommandFailure {
        CommandFailure(.unknownCommand, "there is no command \(command.name.rawValue)")
    }

    private func outcome(
        _ command: Command, _ origin: Origin, _ say: (ControlLine) async throws -> Void
    ) async -> Result<[String: JSONValue], CommandFailure> {
        let arguments = CommandArguments(command.arguments, origin: origin)
        do {
            if let result = try await self.steer(command, arguments) { return .success(result) }
            if let result = try await self.carry(command, arguments) { return .success(result) }
            if let result = try await self.look(command, arguments, say) { return .success(result) }
            return .failure(Self.unknown(command))
        } catch let failure as CommandFailure {
            return .failure(failure)
        } catch let error as TrackingError {
            return .failure(CommandFailure(error))
        } catch {
            return .failure(CommandFailure(.failed, "\(error)"))
        }
    }

    /// What steers sampling and sending.
    private func steer(_ command: Command, _ arguments: CommandArguments) async throws -> [String: JSONValue]? {
        switch command.name {
        case .on: try await self.control.setOn(true)
        case .off: try await self.control.setOn(false)
        case .report: try await self.control.report()
        case .sendNow: return ["records": .number(Double(try await self.control.sendNow()))]
        case .startTrip:
            return try Self.result(
                try await self.control.startTrip(mode: arguments.tripMode(), of: arguments.commandedOrNone()))
        case .stopTrip: return try Self.result(try await self.control.stopTrip(of: arguments.commandedOrNone()))
        case .configure:
            return Self.result(
                try await self.control.configure(try arguments.settings(), isFromAfar: arguments.isFromAfar))
        default: return nil
        }
        return [:]
    }

    private static func result(_ trip: Trip) throws -> [String: JSONValue] {
        ["trip": try JSONValue(json: MessageCodec.encode(trip))]
    }

    private static func result(_ changes: [SettingChange]) -> [String: JSONValue] {
        ["changes": .list(changes.map(\.json))]
    }

    /// What is carried, and where to.
    private func carry(_ command: Command, _ arguments: CommandArguments) async throws -> [String: JSONValue]? {
        switch command.name {
        case .track, .add:
            if command.name == .track, arguments.isFromAfar {
                try arguments.mayGiveUp(await self.control.status().trackables.map(\.id), for: arguments.trackable())
            }
            try await self.control.track(
                arguments.trackable(), destination: arguments.destination(), isOnly: command.name == .track)
        case .remove: try await self.control.remove(arguments.commanded())
        case .destination:
            try await self.control.setDestination(arguments.destination(), of: arguments.commanded())
        default: return nil
        }
        return [:]
    }

    /// What shows or empties the log, and what is for the person with the device alone.
    private func look(
        _ command: Command, _ arguments: CommandArguments, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue]? {
        switch command.name {
        case .status:
            let (pieces, last) = await self.control.status().membersInPieces
            for piece in pieces { try await say(.item(id: command.id, .object(["trackables": .list(piece)]))) }
            return last
        case .metrics:
            var pieces = await self.control.status().metricsInPieces
            let last = pieces.popLast() ?? ""
            for piece in pieces { try await say(.item(id: command.id, .object(["text": .text(piece)]))) }
            return ["text": .text(last)]
        case .queueList:
            let records = try await self.control.queue(limit: arguments.limit())
            return ["records": .list(records.map { .object($0.summary) })]
        case .queueExport:
            var count = 0
            try await self.control.exportQueue { record in
                try await say(.item(id: command.id, record.item))
                count += 1
            }
            return ["records": .number(Double(count))]
        case .queuePurge: return ["records": .number(Double(try await self.control.purgeQueue()))]
        case .quarantineList:
            let records = try await self.control.quarantine(limit: arguments.limit())
            return ["records": .list(records.map { .object($0.summary) })]
        case .quarantineRetry:
            return ["records": .number(Double(try await self.control.retryQuarantined(arguments.records())))]
        case .quarantineDrop:
            return ["records": .number(Double(try await self.control.dropQuarantined(arguments.records())))]
        case .setUp:
            return Self.result(try await self.control.setUp(arguments.setup(), isTrial: arguments.flag("trial")))
        case .flush, .bind: return try await self.send(command, arguments, say)
        default: return nil
        }
    }

    /// What sends all that waits, which takes time.
    private func send(
        _ command: Command, _ arguments: CommandArguments, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue] {
        let (steps, told) = AsyncStream.makeStream(of: ControlLine.self, bufferingPolicy: .bufferingNewest(1))
        let id = command.id
        let control = self.control
        let progress: ControlProgress = { done, total in told.yield(.progress(id: id, done: done, total: total)) }
        let isFlush = command.name == .flush
        let trackable = isFlush ? nil : try arguments.trackable()
        let unsent = try arguments.unsent()
        return try await withThrowingTaskGroup(of: [String: JSONValue].self) { group in
            group.addTask {
                defer { told.finish() }
                guard let trackable else { return ["records": .number(Double(try await control.flush(progress)))] }
                try await control.bind(trackable, unsent: unsent, progress)
                return [:]
            }
            // Who asked may go; what was asked for is done all the same.
            for await step in steps { try? await say(step) }
            return try await group.next() ?? [:]
        }
    }
}
