import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore
import TrackingMQTT

/// `godwit send` through a real broker, to devices in this process.
@Suite(.timeLimit(.minutes(10))) struct SendTests {
    /// Runs a device for `trackable` during `body`. The device executes the commands on its command topic.
    private func withDevice(
        _ broker: MosquittoProcess, _ trackable: String, _ agent: FakeAgent, answersDirectly: Bool,
        _ body: () async throws -> Void
    ) async throws {
        let device = try Device(broker: broker, trackable: trackable, agent: agent, answersDirectly: answersDirectly)
        let (signs, listening) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await device.transport.run() }
            group.addTask { try await device.serve { listening.yield() } }
            defer { group.cancelAll() }
            for await _ in signs { break }
            try await body()
        }
    }

    private func send(_ broker: MosquittoProcess, _ arguments: [String]) async throws -> Programs.Result {
        try await Programs.run("godwit", ["send"] + arguments + ["--broker", broker.url])
    }

    @Test(arguments: [false, true])
    func eachDevicesAnswerIsShown(answersDirectly: Bool) async throws {
        let broker = try await MosquittoProcess.start()
        let (van, bike) = (FakeAgent(), FakeAgent())
        bike.fail(CommandFailure(.tripUnderWay, "a trip is under way"))
        try await self.withDevice(broker, "van 7", van, answersDirectly: answersDirectly) {
            try await self.withDevice(broker, "bike", bike, answersDirectly: answersDirectly) {
                let result = try await self.send(
                    broker, ["start-trip", "van 7", "bike", "--argument", "mode=taxi", "--timeout", "20"])
                #expect(result.code == 1, "one failed")
                #expect(result.lines.count == 2)
                #expect(result.output.contains("van 7: done {\"trip\":{"), "\(result.output) \(result.errors)")
                #expect(result.output.contains("bike: TRIP_UNDER_WAY: a trip is under way\n"))
                #expect(van.called == ["start taxi van 7"])
                #expect(bike.called == ["start taxi bike"])
                let report = try await self.send(broker, ["report", "van 7"])
                #expect(report.code == 0, "\(report.errors)")
                #expect(report.output == "van 7: done\n")
            }
        }
    }

    /// A setting is written as on the command line. Other commands take a destination as a place or as `none`.
    @Test(arguments: [
        ("configure", "destination=52.5,13.4", "configure [\"destination=52.5,13.4\"]"),
        ("configure", "destination=none", "configure [\"destination=none\"]"),
        ("destination", "destination=52.5,13.4", "destination van 52.5,13.4"),
        ("destination", "destination=none", "destination van -"),
    ])
    func aDestinationIsSentAsTheCommandTakesIt(command: String, argument: String, call: String) async throws {
        let broker = try await MosquittoProcess.start()
        let van = FakeAgent()
        try await self.withDevice(broker, "van", van, answersDirectly: true) {
            let result = try await self.send(broker, [command, "van", "--argument", argument, "--timeout", "20"])
            #expect(result.code == 0, "\(result.output) \(result.errors)")
            #expect(van.called.last == call)
        }
    }

    @Test func aDeviceThatDoesNotAnswerIsNamed() async throws {
        let broker = try await MosquittoProcess.start()
        let result = try await self.send(broker, ["report", "gone", "--timeout", "5"])
        #expect(result.code == 1)
        #expect(result.output == "gone: no answer\n")
        #expect(result.errors.contains("--allow-commands"), "\(result.errors)")
    }

    @Test func aMisspeltCommandIsNotSent() async throws {
        let result = try await Programs.run("godwit", ["send", "reprt", "van"])
        #expect(result.code == 64 && result.output.isEmpty)
        #expect(
            result.errors.hasPrefix("Error: there is no command 'reprt' for devices. Did you mean report?\n"),
            "\(result.errors)")
    }

    @Test func withoutABrokerTheCommandFails() async throws {
        let port = try LoopbackPort.free()
        let result = try await Programs.run(
            "godwit", ["send", "report", "van", "--broker", "mqtt://127.0.0.1:\(port)", "--fail-fast"])
        #expect(result.code == 69, "\(result.output)")
    }

    /// The error appears once, with the reason. Otherwise the device would appear to be silent.
    @Test(arguments: [["send", "report", "van", "--timeout", "3"], ["watch", "van", "--timeout", "3"]])
    func aFailedConnectionIsReported(arguments: [String]) async throws {
        let port = try LoopbackPort.free()
        let result = try await Programs.run("godwit", arguments + ["--broker", "mqtt://127.0.0.1:\(port)"])
        let reported = result.errors.split(separator: "\n").filter {
            $0.contains("Connection to the broker was lost or could not be made")
        }
        #expect(reported.count == 1 && reported.first?.contains("warning") == true, "\(result.errors)")
        #expect(reported.first?.contains("127.0.0.1:\(port)") == true, "\(result.errors)")
        // Without a connection, the device is not the cause.
        #expect(!result.errors.contains("--allow-commands"), "\(result.errors)")
    }

    @Test(arguments: [
        ["report"], ["report", ""], ["report", "van", "--timeout", "0"], ["report", "van", "--argument", "mode"],
        ["report", "van", "--argument", "a=1", "--argument", "a=2"], ["add", "van", "--argument", "destination=north"],
        [String(repeating: "x", count: 65), "van"],
    ])
    func wrongUsageIsRefusedBeforeAnythingIsSent(arguments: [String]) async throws {
        let result = try await Programs.run("godwit", ["send"] + arguments)
        #expect(result.code == 64, "\(result.errors)")
    }
}

/// A device that only executes commands.
private struct Device: Sendable {
    let transport: MQTTTransport
    let trackable: TrackableID
    let agent: FakeAgent
    let answersDirectly: Bool

    init(broker: MosquittoProcess, trackable: String, agent: FakeAgent, answersDirectly: Bool) throws {
        self.trackable = try TrackableID(trackable)
        self.agent = agent
        self.answersDirectly = answersDirectly
        let client = try ClientID("device-\(self.trackable.topicLevel.filter(\.isLetter))")
        self.transport = try MQTTTransport(
            configuration: MQTTConfiguration(
                endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: client))
    }

    func serve(subscribed: () -> Void) async throws {
        let root = TopicRoot.standard
        var gate = CommandGate()
        for await batch in self.transport.events {
            for event in batch {
                switch event {
                case .connected: self.transport.send([.subscribe([root.path(.command(self.trackable))], 1)])
                case .subscribed: subscribed()
                case .received(let message):
                    let command = try CommandCodec.decode(message.payload)
                    guard gate.consider(command, now: UnixTime(Date().timeIntervalSince1970)) == .take else { continue }
                    let answer = await ControlDispatcher(self.agent).answer(command, on: self.trackable)
                    self.transport.send([.publish(try self.message(answer, message.properties.responseTopic), 2)])
                case .disconnected, .published: continue
                }
            }
        }
    }

    private func message(_ answer: CommandAnswer, _ responseTopic: String?) throws -> OutgoingMessage {
        if self.answersDirectly {
            let topic = try #require(responseTopic)
            #expect(TopicRoot.standard.isForAnswers(of: self.trackable, topic))
            return OutgoingMessage(topic: topic, payload: try CommandCodec.encode(answer), isRetained: false)
        }
        let event = TrackingEvent(
            id: UUID().uuidString, stream: try #require(StreamID("s")), seq: 1,
            time: UnixTime(Date().timeIntervalSince1970), kind: .command, detail: answer.members)
        return OutgoingMessage(
            topic: TopicRoot.standard.path(.event(self.trackable)), payload: MessageCodec.encode(event),
            isRetained: false)
    }
}
