import Testing
import TrackingCore

@testable import TrackingPublisher

/// The answers to the senders of ingested records.
struct IntakeQueueTests {
    @Test func aRequestThatExpiresDuringItsRoundIsNotWaitedFor() throws {
        var queue = IntakeQueue()
        let fix = Location(coordinate: try #require(Coordinate(latitude: 1, longitude: 2)), time: UnixTime(1))
        let draft = RecordDraft(.point(fix), digest: try #require(RecordDigest(Array(repeating: 7, count: 32))))
        queue.arrived(.init(request: 1, drafts: [draft]), by: MonotonicTime(.seconds(5)))
        let asked = queue.begin()
        #expect(asked == [draft.mark])
        #expect(queue.found([:]) == [draft])
        let expired = queue.takeExpired(now: MonotonicTime(.seconds(5)))
        #expect(expired.map(\.request) == [1] && expired.first?.wait == .written)
        let stream = try #require(StreamID("s"))
        queue.named([draft.mark: RecordName(stream: stream, seq: 1)], news: [])
        _ = queue.written(SeqSet([1...1]))
        let answers = queue.settle { _ in true }
        #expect(answers.isEmpty && queue.isIdle)
    }
}
