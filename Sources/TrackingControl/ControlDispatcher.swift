public import TrackingCore

/// Checks commands from the local socket and from the broker, lets the agent perform them, and returns the answers.
public struct ControlDispatcher: Sendable {
    /// The origin of a command: the local socket, or the broker.
    public enum Origin: Hashable, Sendable {
        /// The command arrived on the local socket. Every command is allowed.
        case socket
        /// The command arrived through the broker, on the command topic of this trackable. A command that names no
        /// trackable applies to this one.
        case topic(TrackableID)
    }

    private let control: any AgentControl

    /// Creates a dispatcher that passes commands to an agent.
    public init(_ control: any AgentControl) { self.control = control }

    /// Performs a command from the local socket and returns the answer.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - say: A function that sends lines (progress reports and listed items) to the client before the answer.
    public func answer(
        _ command: Command, say: (ControlLine) async throws -> Void
    ) async -> CommandAnswer {
        CommandAnswer(id: command.id, outcome: await self.outcome(command, .socket, say))
    }

    /// Performs a command that arrived through the broker, on the command topic of `trackable`, and returns the answer.
    /// The caller must have rejected expired and repeated commands with ``CommandGate`` before.
    public func answer(_ command: Command, on trackable: TrackableID) async -> CommandAnswer {
        guard !Command.Name.localOnly.contains(command.name) else {
            let failure = CommandFailure(
                .notAllowed,
                """
                the command \(command.name.rawValue) is not accepted through the broker. \
                Give it with godwit-agent on the device
                """)
            return CommandAnswer(id: command.id, outcome: .failure(failure))
        }
        guard Command.Name.allowedRemotely.contains(command.name) else {
            return CommandAnswer(id: command.id, outcome: .failure(Self.unknown(command)))
        }
        return CommandAnswer(id: command.id, outcome: await self.outcome(command, .topic(trackable), { _ in }))
    }

    private static func unknown(_ command: Command) -> CommandFailure {
        CommandFailure(
            .unknownCommand, "the agent has no command \(command.name.rawValue). Check the name, or update the agent")
    }

    private func outcome(
        _ command: Command, _ origin: Origin, _ say: (ControlLine) async throws -> Void
    ) async -> Result<[String: JSONValue], CommandFailure> {
        do {
            guard let request = try ControlRequest(command, origin) else { return .failure(Self.unknown(command)) }
            return .success(try await self.perform(request, id: command.id, say))
        } catch let failure as CommandFailure {
            return .failure(failure)
        } catch let error as TrackingError {
            return .failure(CommandFailure(error))
        } catch {
            return .failure(CommandFailure(.failed, "\(error)"))
        }
    }

    /// Lets the agent perform a command whose arguments are already checked, and returns the members of the command's
    /// result.
    private func perform(
        _ request: ControlRequest, id: String, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue] {
        switch request {
        case .status: return try await self.status(id, say)
        case .metrics: return try await self.metrics(id, say)
        case .setOn(let isOn): try await self.control.setOn(isOn)
        case .report: try await self.control.report()
        case .sendNow: return Self.result(count: try await self.control.sendNow())
        case .flush: return try await self.flush(id, say)
        case .startTrip(let mode, let trackable):
            return try Self.result(try await self.control.startTrip(mode: mode, of: trackable))
        case .stopTrip(let trackable): return try Self.result(try await self.control.stopTrip(of: trackable))
        case .configure(let settings, let isFromAfar):
            return Self.result(try await self.control.configure(settings, isFromAfar: isFromAfar))
        case .track(let trackable, let destination, let check):
            try check?.check(await self.control.status().trackables.map(\.id), for: trackable)
            try await self.control.track(trackable, destination: destination, isOnly: true)
        case .add(let trackable, let destination):
            try await self.control.track(trackable, destination: destination, isOnly: false)
        case .remove(let trackable): try await self.control.remove(trackable)
        case .setDestination(let destination, let trackable):
            try await self.control.setDestination(destination, of: trackable)
        case .queueList(let limit):
            return Self.result(records: try await self.control.queue(limit: limit).map(\.summary))
        case .queueExport: return try await self.export(id, say)
        case .queuePurge: return Self.result(count: try await self.control.purgeQueue())
        case .quarantineList(let limit):
            return Self.result(records: try await self.control.quarantine(limit: limit).map(\.summary))
        case .quarantineRetry(let records):
            return Self.result(count: try await self.control.retryQuarantined(records))
        case .quarantineDrop(let records):
            return Self.result(count: try await self.control.dropQuarantined(records))
        case .bind(let trackable, let unsent): return try await self.bind(trackable, unsent, id, say)
        case .setUp(let setup, let isTrial):
            return Self.result(try await self.control.setUp(setup, isTrial: isTrial))
        }
        return [:]
    }

    private static func result(count: Int) -> [String: JSONValue] { ["records": .number(Double(count))] }

    private static func result(records: [[String: JSONValue]]) -> [String: JSONValue] {
        ["records": .list(records.map { .object($0) })]
    }

    private static func result(_ trip: Trip) throws -> [String: JSONValue] {
        ["trip": try JSONValue(json: MessageCodec.encode(trip))]
    }

    private static func result(_ changes: [SettingChange]) -> [String: JSONValue] {
        ["changes": .list(changes.map(\.json))]
    }

    private func status(
        _ id: String, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue] {
        let (pieces, last) = await self.control.status().membersInPieces
        for piece in pieces { try await say(.item(id: id, .object(["trackables": .list(piece)]))) }
        return last
    }

    private func metrics(
        _ id: String, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue] {
        var pieces = await self.control.status().metricsInPieces
        let last = pieces.popLast() ?? ""
        for piece in pieces { try await say(.item(id: id, .object(["text": .text(piece)]))) }
        return ["text": .text(last)]
    }

    private func export(
        _ id: String, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue] {
        var count = 0
        try await self.control.exportQueue { record in
            try await say(.item(id: id, record.item))
            count += 1
        }
        return Self.result(count: count)
    }

    private func flush(
        _ id: String, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue] {
        let control = self.control
        return try await self.reportingProgress(id, say) { progress in
            Self.result(count: try await control.flush(progress))
        }
    }

    private func bind(
        _ trackable: TrackableID, _ unsent: UnsentPoints, _ id: String, _ say: (ControlLine) async throws -> Void
    ) async throws -> [String: JSONValue] {
        let control = self.control
        return try await self.reportingProgress(id, say) { progress in
            try await control.bind(trackable, unsent: unsent, progress)
            return [:]
        }
    }

    /// Performs a long command and sends its progress to the client meanwhile. If the client disconnects, the command
    /// continues.
    ///
    /// - Parameter work: The command. It receives a function to report its progress, and returns the members of the
    ///   result.
    private func reportingProgress(
        _ id: String, _ say: (ControlLine) async throws -> Void,
        _ work: @escaping @Sendable (@escaping ControlProgress) async throws -> [String: JSONValue]
    ) async throws -> [String: JSONValue] {
        let (steps, progress) = AsyncStream.makeStream(of: ControlLine.self, bufferingPolicy: .bufferingNewest(1))
        return try await withThrowingTaskGroup(of: [String: JSONValue].self) { group in
            group.addTask {
                defer { progress.finish() }
                return try await work { done, total in progress.yield(.progress(id: id, done: done, total: total)) }
            }
            for await step in steps { try? await say(step) }
            return try await group.next() ?? [:]
        }
    }
}
