import HTTPTypes
import Synchronization
import Testing
import TrackingCore
import TrackingSubscriber

@testable import TrackingGateway

/// Commands of administrators, and the answers of devices.
@Suite(.timeLimit(.minutes(1))) struct CommandDeskTests {
    private let command = Command(id: "c1", name: .report, time: UnixTime(1))

    private func event(_ answer: CommandAnswer) throws -> SubscriberEvent {
        let stream = try #require(StreamID("one"))
        let event = TrackingEvent(
            id: "e", stream: stream, seq: 1, time: UnixTime(2), kind: .command, detail: answer.members)
        return .event(try TrackableID("van"), event)
    }

    @Test func theAnswerToTheCommandIsReturned() async throws {
        let (events, device) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let other = try self.event(CommandAnswer(id: "c2", outcome: .success([:])))
        let own = try self.event(CommandAnswer(id: "c1", outcome: .failure(CommandFailure(.busy, "later"))))
        let desk = CommandDesk(events: { events }) { (command, id) in
            #expect(command.name == .report && id.rawValue == "van")
            device.yield(other)
            device.yield(own)
        }
        let answer = try await desk.send(self.command, to: try TrackableID("van"), within: .seconds(30))
        #expect(answer?.id == "c1" && answer?.members["error"]?["code"] == .text("BUSY"))
    }

    @Test func aSilentDeviceIsNotAwaitedForEver() async throws {
        let (events, device) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let desk = CommandDesk(events: { events }) { _, _ in }
        let answer = try await desk.send(self.command, to: try TrackableID("van"), within: .milliseconds(20))
        #expect(answer == nil)
        withExtendedLifetime(device) {}
    }

    @Test func aRejectionOfTheBrokerNamesTheRemedy() async throws {
        let desk = CommandDesk(events: { AsyncStream { $0.finish() } }) { (_, _) throws(TrackingError) in
            throw TrackingError(.notAuthorized, "no")
        }
        let problem = await #expect(throws: Problem.self) {
            try await desk.send(self.command, to: try TrackableID("van"), within: .seconds(30))
        }
        #expect(problem?.status == .badGateway && problem?.detail?.contains("add-gateway --commands") == true)
    }
}
