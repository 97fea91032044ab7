import TestSupport
import Testing
import TrackingCore

@testable import TrackingControl

@Suite struct ControlDispatcherTests {
    private let agent = FakeAgent(records: [Samples.record(1), Samples.record(2)])

    private func ask(_ name: Command.Name, _ arguments: [String: JSONValue] = [:]) async -> CommandAnswer {
        await ControlDispatcher(self.agent).answer(self.command(name, arguments)) { _ in }
    }

    private func command(_ name: Command.Name, _ arguments: [String: JSONValue] = [:]) -> Command {
        Command(id: "c1", name: name, time: UnixTime(0), arguments: arguments)
    }

    /// Each command, what it makes the agent do, and a member of its result.
    static let commands: [(Command.Name, [String: JSONValue], String)] = [
        (.on, [:], "on true"), (.off, [:], "on false"), (.report, [:], "report"), (.sendNow, [:], "sendNow"),
        (.flush, [:], "flush"), (.startTrip, ["mode": .text("taxi"), "trackable": .text("a")], "start taxi a"),
        (.startTrip, [:], "start - -"), (.stopTrip, [:], "stop -"),
        (
            .configure, ["b": .flag(true), "a": .number(2.5), "c": .text("x")],
            "configure [\"a=2.5\", \"b=on\", \"c=x\"]"
        ),
        (.track, ["trackable": .text("a"), "destination": .list([.number(-8.5), .number(52)])], "track a 52.0,-8.5"),
        (.add, ["trackable": .text("a")], "add a -"), (.remove, ["trackable": .text("a")], "remove a"),
        (.destination, ["trackable": .text("a")], "destination a -"),
        (.queueList, [:], "queue 50"), (.queueList, ["limit": .number(7)], "queue 7"), (.queueExport, [:], "export"),
        (.queuePurge, [:], "purge"), (.quarantineList, [:], "quarantine 50"), (.quarantineRetry, [:], "retry all"),
        (.quarantineDrop, ["records": .list([.text("s:4")])], "drop [s:4]"),
        (.bind, ["trackable": .text("a")], "bind a refuse"),
        (.bind, ["trackable": .text("a"), "unsent": .text("send")], "bind a send"),
        (.setUp, ["token": .text("hunter2"), "trial": .flag(true)], "setup set-up of token trial true"),
    ]

    @Test(arguments: Self.commands)
    func eachCommandCallsTheAgent(name: Command.Name, arguments: [String: JSONValue], call: String) async {
        let answer = await self.ask(name, arguments)
        #expect(answer.id == "c1")
        guard case .success = answer.outcome else {
            Issue.record("\(answer)")
            return
        }
        #expect(self.agent.called == [call])
    }

    @Test(arguments: Self.commands)
    func aFailureIsAnswered(name: Command.Name, arguments: [String: JSONValue], call: String) async {
        let failure = CommandFailure(.isOff, "the agent is off")
        self.agent.fail(failure)
        #expect(await self.ask(name, arguments).outcome == .failure(failure))
    }

    @Test(arguments: [
        (Command.Name.startTrip, ["mode": JSONValue.text("")]), (.startTrip, ["mode": .number(1)]), (.track, [:]),
        (.track, ["trackable": .text("")]), (.add, ["trackable": .text("a"), "destination": .text("52,8")]),
        (.add, ["trackable": .text("a"), "destination": .list([.number(1), .number(95)])]),
        (.queueList, ["limit": .number(201)]), (.queueList, ["limit": .number(1.5)]), (.configure, [:]),
        (.configure, ["a": .list([])]), (.quarantineDrop, ["records": .list([.text("s")])]),
        (.bind, ["trackable": .text("a"), "unsent": .text("lose")]), (.setUp, [:]), (.setUp, ["trial": .flag(true)]),
    ])
    func anArgumentThatBreaksARuleChangesNothing(name: Command.Name, arguments: [String: JSONValue]) async {
        guard case .failure(let failure) = await self.ask(name, arguments).outcome else {
            Issue.record("\(name) was done")
            return
        }
        #expect(failure.code == .invalidArguments)
        #expect(self.agent.called == [])
    }

    @Test func anUnknownCommandIsRefused() async {
        guard case .failure(let failure) = await self.ask(.init(rawValue: "DANCE")).outcome else {
            Issue.record("it was done")
            return
        }
        #expect(failure.code == .unknownCommand)
    }

    /// Remote commands get the same error: a command of a later version is unknown, not forbidden.
    @Test func anUnknownRemoteCommandIsUnknown() async throws {
        let dispatcher = ControlDispatcher(self.agent)
        let answer = try await dispatcher.answer(self.command(.init(rawValue: "DANCE")), on: TrackableID("v"))
        #expect(
            answer.outcome
                == .failure(
                    CommandFailure(
                        .unknownCommand, "the agent has no command DANCE. Check the name, or update the agent")))
    }

    @Test func everyCommandIsForTheBrokerOrForTheSocketAlone() {
        let both = Command.Name.allowedRemotely.union(Command.Name.localOnly)
        #expect(both.count == Command.Name.allowedRemotely.count + Command.Name.localOnly.count)
        #expect(both == Set(Self.commands.map(\.0)).union([.status, .metrics]))
    }

    @Test func remoteCommandsAreThoseOfTheProtocol() async throws {
        let van = try TrackableID("van-7")
        for (name, arguments, _) in Self.commands {
            let agent = FakeAgent()
            // The two trackables of the sample.
            let isTrack = name == .track
            let command = self.command(name, isTrack ? ["trackable": .text("van-8")] : arguments)
            let topic = try isTrack ? Samples.id : TrackableID("a")
            let answer = await ControlDispatcher(agent).answer(command, on: topic)
            let isAllowed = Command.Name.allowedRemotely.contains(name)
            #expect(agent.called.isEmpty == !isAllowed, "\(name)")
            if case .failure(let failure) = answer.outcome { #expect(!isAllowed && failure.code == .notAllowed) }
        }
        let status = await ControlDispatcher(self.agent).answer(self.command(.status), on: van)
        #expect(
            status.outcome
                == .failure(
                    CommandFailure(
                        .notAllowed,
                        """
                        the command STATUS is not accepted through the broker. \
                        Give it with godwit-agent on the device
                        """))
        )
    }

    @Test func aCommandThatNamesNoTrackableMeansTheOneOfItsTopic() async throws {
        let dispatcher = ControlDispatcher(self.agent)
        let van = try TrackableID("van-7")
        _ = await dispatcher.answer(self.command(.startTrip), on: van)
        _ = await dispatcher.answer(self.command(.remove), on: van)
        _ = await dispatcher.answer(self.command(.add, ["trackable": .text("van-8")]), on: van)
        #expect(self.agent.called == ["start - van-7", "remove van-7", "add van-8 -"])
    }

    /// The permission to command one trackable of a device does not extend to its other trackables.
    @Test(arguments: [Command.Name.startTrip, .stopTrip, .remove, .destination, .track])
    func aRemoteCommandForAnotherTrackableIsRejected(name: Command.Name) async throws {
        let command = self.command(name, ["trackable": .text("van-9")])
        let answer = await ControlDispatcher(self.agent).answer(command, on: try TrackableID("van-7"))
        guard case .failure(let failure) = answer.outcome else {
            Issue.record("it was done")
            return
        }
        #expect(failure.code == .notAllowed && self.agent.called.isEmpty, "\(failure)")
    }

    /// The status is split for any number of trackables, because each line of the socket has a size limit.
    @Test func manyFiguresComeInPieces() async throws {
        var status = Samples.status
        status.trackables = try (0..<400).map { index in
            var trackable = Samples.status.trackables[0]
            trackable.id = try TrackableID("vehicle \"\(index)\"")
            return trackable
        }
        let pieces = status.metricsInPieces
        #expect(pieces.joined() == status.metrics && pieces.count > 1)
        for piece in pieces {
            let line = try ControlLine.item(id: "c1", .object(["text": .text(piece)])).encoded()
            #expect(line.count < 65_536 && piece.hasSuffix("\n"))
        }
    }

    @Test func theAgentKnowsWhichSettingsAreRemote() async throws {
        let command = self.command(.configure, ["mode": .text("active")])
        _ = await ControlDispatcher(self.agent).answer(command, on: try TrackableID("van-7"))
        #expect(self.agent.called == ["from afar", "configure [\"mode=active\"]"])
    }

    @Test func anExportHandsOverEveryRecordByteForByte() async throws {
        var items: [JSONValue] = []
        let answer = await ControlDispatcher(self.agent).answer(self.command(.queueExport)) { line in
            if case .item("c1", let item) = line { items.append(item) }
        }
        #expect(answer.outcome == .success(["records": .number(2)]))
        #expect(items.compactMap { $0["seq"]?.count } == [1, 2])
        #expect(items.first?["record"]?.text == "{\"extra\": 1.0}")
    }

    @Test func anExportEndsWhenItsReaderIsGone() async {
        struct Gone: Error {}
        var count = 0
        let answer = await ControlDispatcher(self.agent).answer(self.command(.queueExport)) { _ in
            count += 1
            throw Gone()
        }
        #expect(count == 1)
        guard case .failure = answer.outcome else {
            Issue.record("it was done")
            return
        }
    }

    @Test func theStatusIsTheResult() async throws {
        let status = try await self.ask(.status).outcome.get()
        #expect(try AgentStatus(members: status) == Samples.status)
        let metrics = try await self.ask(.metrics).outcome.get()
        #expect(metrics["text"]?.text == Samples.status.metrics)
    }
}
