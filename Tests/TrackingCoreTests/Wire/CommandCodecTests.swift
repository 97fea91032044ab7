import Testing
import TrackingCore

@Suite struct CommandCodecTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func aWrittenCommandReadsBackTheSame() throws {
        let command = Command(
            id: "7a", name: .startTrip, time: UnixTime(1_550_475_950.25), expires: UnixTime(1_550_475_960),
            arguments: [
                "mode": .text("bicycle"), "list": .list([.number(1.5), .flag(true), .object(["a": .text("é")])]),
            ])
        #expect(try CommandCodec.decode(CommandCodec.encode(command)) == command)
        for outcome: Result<[String: JSONValue], CommandFailure> in [
            .success([:]), .success(["points": .number(12)]), .failure(CommandFailure(.noTrip, "no trip is under way")),
        ] {
            let answer = CommandAnswer(id: "7a", outcome: outcome)
            #expect(try CommandCodec.decodeAnswer(CommandCodec.encode(answer)) == answer)
            #expect(try CommandAnswer(members: answer.members) == answer)
        }
    }

    @Test func theDefaultDeadlineIsAMinuteAfterTheTime() throws {
        let command = try CommandCodec.decode(self.bytes(#"{"id":"1","command":"REPORT","time":1000}"#))
        #expect(command.arguments == [:])
        #expect(command.deadline == UnixTime(1060))
        let other = try CommandCodec.decode(self.bytes(#"{"id":"1","command":"REPORT","time":1000,"expires":1001}"#))
        #expect(other.deadline == UnixTime(1001))
    }

    @Test(arguments: [
        (#"{"command":"REPORT","time":1}"#, "id is missing"), (#"{"id":"1","time":1}"#, "command is missing"),
        (#"{"id":"1","command":"REPORT"}"#, "time is missing"),
        (#"{"id":"","command":"REPORT","time":1}"#, "id must be a string of 1 to 64 bytes; found another string"),
        (#"{"id":"1","command":7,"time":1}"#, "command must be a string; found a number"),
        (
            #"{"id":"1","command":"REPORT","time":1e99}"#,
            "time must be Unix time in seconds; found a number out of range"
        ),
        (#"{"id":"1","command":"REPORT","time":1,"arguments":[]}"#, "arguments must be an object; found an array"),
    ])
    func aCommandThatBreaksARuleIsRefusedByTheNameOfTheMember(json: String, message: String) {
        #expect(throws: TrackingError(.invalidPayload, message)) { try CommandCodec.decode(self.bytes(json)) }
    }

    @Test func aCommandHasABoundedSize() throws {
        var command = Command(id: "1", name: .configure, time: UnixTime(1))
        command.arguments["key"] = .text(String(repeating: "x", count: Command.maximumBytes))
        #expect(throws: TrackingError.self) { try CommandCodec.encode(command) }
        let long =
            self.bytes(#"{"id":"1","command":"REPORT","time":1,"more":""#)
            + [UInt8](repeating: 0x78, count: Command.maximumBytes) + self.bytes("\"}")
        let error = #expect(throws: TrackingError.self) { try CommandCodec.decode(long) }
        #expect(error?.code == .payloadTooLarge)
    }

    @Test func anAnswerIsBoundedToo() throws {
        let large = CommandAnswer(id: "1", outcome: .success(["x": .text(String(repeating: "x", count: 140_000))]))
        #expect(throws: TrackingError.self) { try CommandCodec.encode(large) }
        let wordy = CommandAnswer(
            id: "1", outcome: .failure(CommandFailure(.failed, String(repeating: "x", count: 5000))))
        guard case .failure(let failure) = try CommandCodec.decodeAnswer(CommandCodec.encode(wordy)).outcome else {
            Issue.record("a failure stays one")
            return
        }
        #expect(failure.message.utf8.count == 1000)
    }

    @Test(arguments: [
        #"{"ok":true}"#, #"{"id":"1"}"#, #"{"id":"1","ok":false}"#, #"{"id":"1","ok":false,"error":{"code":"X"}}"#,
        "[]",
        "null", #"{"id":"1","ok":"yes"}"#,
    ])
    func anInvalidAnswerIsRefused(json: String) {
        #expect(throws: TrackingError.self) { try CommandCodec.decodeAnswer(self.bytes(json)) }
    }

    @Test func anEventContainsACompleteAnswer() throws {
        let answer = CommandAnswer(id: "c1", outcome: .failure(CommandFailure(.unknownTrackable, "'x' is not carried")))
        let event = TrackingEvent(
            id: "e1", stream: try #require(StreamID("s")), seq: 4, time: UnixTime(5), kind: .command,
            detail: answer.members)
        let read = try MessageCodec.decodeEvent(MessageCodec.encode(event))
        #expect(read == event)
        #expect(try CommandCodec.answer(in: read) == answer)
        var other = read
        other.kind = .collision
        #expect(throws: TrackingError.self) { try CommandCodec.answer(in: other) }
    }

    @Test func nullMeansAbsent() throws {
        let value = try JSONValue(json: self.bytes(#"{"a":null,"b":[1,null,2],"c":{"d":null}}"#))
        #expect(value == .object(["b": .list([.number(1), .number(2)]), "c": .object([:])]))
        #expect(value.json == self.bytes(#"{"b":[1,2],"c":{}}"#))
        #expect(JSONValue.list([.number(.nan), .number(1)]).json == self.bytes("[1]"))
    }

    @Test func answersGoNowhereElse() throws {
        let root = TopicRoot.standard
        let id = try TrackableID("van 7")
        let path = root.path(.answer(id, try ClientID("desk")))
        #expect(path == "tracking/van=207/command/desk")
        #expect(root.isForAnswers(of: id, path))
        for other in [
            "tracking/van=207", "tracking/van=207/command", "tracking/van=207/command/", "tracking/van=207/command/a/b",
            "tracking/other/command/desk", "tracking/van=207/event", "elsewhere",
        ] {
            #expect(!root.isForAnswers(of: id, other), "\(other)")
        }
    }
}
