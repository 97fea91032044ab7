import TestSupport
import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the answers to senders of ingested records, by the recorders on which they depend.
struct IntakeRecorderTests {
    private func connected(
        recorders: [String] = [], _ unnamed: SpoolStateMachine.UnnamedRecorder = .none
    ) throws -> PublisherConversation {
        let names = Set(try recorders.map { try ClientID($0) })
        var talk = try PublisherConversation { configuration in
            configuration.recording.recorders = names
            configuration.recording.unnamedRecorder = unnamed
        }
        talk.now = MonotonicTime(.seconds(100))
        _ = talk.connect(0)
        _ = talk.granted()
        _ = talk.echoed()
        return talk
    }

    private func settle(_ talk: inout PublisherConversation) -> [String] {
        var said: [String] = []
        for _ in 0..<4 { said += talk.granted() + talk.echoed() + talk.acked() }
        return said
    }

    private func unrecorded(_ talk: PublisherConversation) -> PublisherSnapshot.Unrecorded? {
        talk.machine.snapshot(at: Moment(now: talk.now, wall: UnixTime(2000))).unrecorded
    }

    private func stored(_ talk: PublisherConversation) -> [UInt64] { talk.log.values.flatMap(\.keys).sorted() }

    /// The broker was killed during a batch. The phone's retry does not wait for the resend after 30 s.
    @Test func aRetryIsAnsweredSoonAfterTheBrokerIsBack() throws {
        var talk = try self.connected(recorders: ["keeper"])
        _ = try talk.take([30], request: 2)
        _ = self.settle(&talk)
        _ = talk.lose()
        #expect(talk.wait(.seconds(20)).contains("answer brokerUnreachable"))
        _ = talk.connect(1)
        _ = self.settle(&talk)
        #expect(try !talk.take([30], request: 3).contains { $0.hasPrefix("answer") })
        let again = talk.wait(.seconds(3))
        #expect(again.contains { $0.hasPrefix("van/history: batch [1]") }, "\(again)")
        _ = self.settle(&talk)
        #expect(try talk.acknowledge(1, by: ClientID("keeper")).contains("answer taken 1"))
    }

    @Test func withoutARecorderRecordsAreAnsweredAndStayInTheLog() throws {
        var talk = try self.connected(.startedLater)
        let taken = try talk.take([30, 31])
        #expect(taken.contains { $0.contains("van/ack/+") }, "\(taken)")
        #expect(self.settle(&talk).contains("answer taken 1,2"))
        #expect(self.stored(talk) == [1, 2])
        #expect(try talk.take([30], request: 2) == ["answer taken 1"], "it is known, and the broker has it")
        // A recorder that was started later answers the presence, and has no records.
        _ = try talk.acknowledge(0, by: ClientID("keeper"))
        let again = talk.wait(.seconds(3))
        #expect(again.contains { $0.hasPrefix("van/history: batch [1,2]") }, "\(again)")
        _ = self.settle(&talk)
        _ = try talk.acknowledge(2, by: ClientID("keeper"))
        #expect(self.stored(talk).isEmpty && self.unrecorded(talk) == nil)
    }

    @Test func anyRecorderIsWaitedForWhereOneRuns() throws {
        var talk = try self.connected(.running)
        _ = try talk.take([30], within: .seconds(5))
        #expect(!self.settle(&talk).contains { $0.hasPrefix("answer") })
        #expect(talk.wait(.seconds(5)).contains("answer notAcknowledged"))
        #expect(try talk.take([30], request: 2).isEmpty)
        #expect(try talk.acknowledge(1, by: ClientID("any")).contains("answer taken 1"))
        #expect(self.stored(talk).isEmpty)
    }

    /// A trackable is not kept tracked, and present, for as long as it has no recorder.
    @Test func aTrackableIsLeftThoughNobodyRecordsIt() throws {
        var talk = try self.connected(.startedLater)
        _ = try talk.take([30])
        _ = self.settle(&talk)
        var said: [String] = []
        for _ in 0..<30 {
            said += talk.wait(.seconds(60))
            said += self.settle(&talk)
        }
        #expect(said.contains("removed van") && self.stored(talk) == [1])
        #expect(self.unrecorded(talk).map { $0.count == 1 && $0.wait >= .seconds(60) } == true)
        // The next batch does not repeat the earlier records until a recorder answers.
        let next = try talk.take([2_000], request: 2) + self.settle(&talk)
        #expect(next.contains("answer taken 2"))
        #expect(!next.contains { $0.contains("batch [1") }, "\(next)")
        _ = try talk.acknowledge(0, by: ClientID("keeper"))
        let all = talk.wait(.seconds(3)) + self.settle(&talk)
        #expect(all.contains { $0.contains("batch [1") }, "\(all)")
        _ = try talk.acknowledge(2, by: ClientID("keeper"))
        #expect(self.stored(talk).isEmpty)
    }

    @Test func theRecordersThatAreMissedAreNamed() throws {
        var talk = try self.connected(recorders: ["keeper"])
        _ = try talk.take([30])
        _ = self.settle(&talk)
        _ = talk.wait(.seconds(61))
        let waiting = try #require(self.unrecorded(talk))
        #expect(waiting.count == 1 && waiting.wait >= .seconds(61) && waiting.recorders.map(\.rawValue) == ["keeper"])
    }
}
