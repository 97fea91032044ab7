import Testing
import TrackingCore

@testable import godwit

@Suite struct CommandSenderTests {
    private let van: TrackableID
    private let bike: TrackableID
    private let root = TopicRoot.standard
    private let desk: ClientID
    private var state: CommandSenderState

    init() throws {
        self.van = try TrackableID("van")
        self.bike = try TrackableID("bike")
        self.desk = try ClientID("desk")
        self.state = CommandSenderState(
            root: self.root, client: self.desk,
            commands: [
                (self.van, Command(id: "c1", name: .report, time: UnixTime(100))),
                (self.bike, Command(id: "c2", name: .report, time: UnixTime(100))),
            ])
    }

    private let forbidden = TrackingError(.notAuthorized, "forbidden")

    private func event(_ id: TrackableID, _ answer: CommandAnswer) throws -> IncomingMessage {
        let event = TrackingEvent(
            id: "e", stream: try #require(StreamID("s")), seq: 1, time: UnixTime(1), kind: .command,
            detail: answer.members)
        return IncomingMessage(
            topic: self.root.path(.event(id)), payload: MessageCodec.encode(event)[...], isRetained: false)
    }

    private func direct(_ id: TrackableID, _ answer: CommandAnswer) throws -> IncomingMessage {
        IncomingMessage(
            topic: self.root.path(.answer(id, self.desk)), payload: try CommandCodec.encode(answer)[...],
            isRetained: false)
    }

    @Test mutating func answersAreAskedForBeforeAnythingIsSent() throws {
        #expect(
            self.state.connected()
                == .subscribe([
                    "tracking/van/event", "tracking/van/command/desk", "tracking/bike/event",
                    "tracking/bike/command/desk",
                ]))
        guard case .publish(let messages) = try #require(self.state.subscribed([nil, nil, nil, nil]).first) else {
            Issue.record("nothing was sent")
            return
        }
        #expect(messages.map(\.topic) == ["tracking/van/command", "tracking/bike/command"])
        #expect(messages.map(\.isRetained) == [false, false])
        #expect(messages[0].properties.responseTopic == "tracking/van/command/desk")
        #expect(try CommandCodec.decode(messages[1].payload).id == "c2")
        #expect(self.state.trackable(of: messages[1]) == self.bike)
    }

    @Test mutating func theFirstAnswerOfEachCountsWhereverItComes() throws {
        _ = self.state.subscribed([nil, nil, nil, nil])
        let done = CommandAnswer(id: "c1", outcome: .success(["records": .number(3)]))
        #expect(self.state.received(try self.direct(self.van, done)) == [])
        #expect(self.state.received(try self.event(self.van, done)) == [])
        #expect(self.state.takeNews().map(\.0) == [self.van])
        #expect(self.state.silent == [self.bike])
        let failed = CommandAnswer(id: "c2", outcome: .failure(CommandFailure(.isOff, "off")))
        #expect(self.state.received(try self.event(self.bike, failed)) == [.finish])
        #expect(self.state.outcomes == [self.van: .answered(done), self.bike: .answered(failed)])
    }

    @Test mutating func answersToOthersAndNonsenseArePassedOver() throws {
        _ = self.state.subscribed([nil, nil, nil, nil])
        let other = CommandAnswer(id: "c9", outcome: .success([:]))
        #expect(self.state.received(try self.event(self.van, other)) == [])
        for topic in ["tracking/van/event", "tracking/van/command/desk", "elsewhere"] {
            #expect(self.state.received(IncomingMessage(topic: topic, payload: [1, 2], isRetained: false)) == [])
        }
        #expect(self.state.silent == [self.van, self.bike])
    }

    @Test mutating func oneOfTwoAnswerTopicsIsEnough() {
        #expect(self.state.subscribed([nil, self.forbidden, self.forbidden, nil]).count == 1)
        #expect(self.state.silent == [self.van, self.bike])
    }

    @Test mutating func nothingIsSentWithoutAnAnswerTopic() throws {
        guard case .publish(let messages) = self.state.subscribed([self.forbidden, self.forbidden, nil, nil]).first
        else {
            Issue.record("nothing was sent")
            return
        }
        #expect(messages.map(\.topic) == ["tracking/bike/command"])
        #expect(self.state.outcomes == [self.van: .refused(self.forbidden)])
    }

    @Test mutating func aCommandThatTheBrokerRefusesHasFailed() {
        _ = self.state.subscribed([nil, nil, nil, nil])
        #expect(self.state.published(to: self.van, refusal: nil) == [])
        #expect(self.state.published(to: self.van, refusal: self.forbidden) == [])
        #expect(self.state.published(to: self.bike, refusal: self.forbidden) == [.finish])
    }

    @Test mutating func afterAReconnectWhatIsNotAnsweredIsSentAgainUnderItsId() throws {
        let first = self.state.subscribed([nil, nil, nil, nil])
        _ = self.state.received(
            try self.direct(self.van, CommandAnswer(id: "c1", outcome: .success([:]))))
        guard case .publish(let before) = first.first,
            case .publish(let again) = self.state.subscribed([nil, nil, nil, nil]).first
        else {
            Issue.record("nothing was sent")
            return
        }
        #expect(again == [before[1]])
    }
}
