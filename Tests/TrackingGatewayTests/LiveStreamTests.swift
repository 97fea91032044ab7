import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization
import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber

@testable import TrackingGateway

/// The end of a stream, and its hub's other notifications.
@Suite(.timeLimit(.minutes(5))) struct LiveStreamTests {
    private let van: TrackableID
    private let caller = Caller(name: "test", reads: .all)

    init() throws { self.van = try TrackableID("van") }

    /// A body writer that accepts the data, and runs a function at the second write.
    private struct Paper: ResponseBodyWriter {
        final class Text: Sendable {
            let written = Mutex<[String]>([])
        }

        let text = Text()
        let second: @Sendable () -> Void

        mutating func write(_ buffer: ByteBuffer) async throws {
            let count = self.text.written.withLock { text in
                text.append(String(buffer: buffer))
                return text.count
            }
            if count == 2 { self.second() }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    /// A hub with a number of positions and a list of the trackables whose clearing was reported.
    private func hub(
        positions: UInt64, cleared: @escaping @Sendable (TrackableID, Location?) -> Void = { _, _ in },
        clears: Bool = false
    ) async throws -> LiveHub {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        for number in 1...positions {
            received.yield(try Sample.location(TrackableID("van-\(number)"), number, time: 1_790_000_000))
        }
        if clears { received.yield(.locationCleared(try TrackableID("van-\(positions)"))) }
        let hub = LiveHub(events: events, cleared: cleared) { _, _ in }
        let running = Task { await hub.run() }
        while hub.trackableCount < positions { try await Task.sleep(for: .milliseconds(1)) }
        withExtendedLifetime(running) {}
        return hub
    }

    /// One stream has pending current updates, and the other has pending updates from the history.
    @Test(arguments: [false, true]) func pendingUpdatesAreDroppedWhenTheRightToReadEnds(hasGap: Bool) async throws {
        let folder = TemporaryFolder()
        let history = try SQLiteHistoryStore(path: folder.url.appending(path: "history.sqlite").path())
        let id = try TrackableID("van-1")
        var recording = Recording(of: id, at: UnixTime(10_000))
        recording.points = (1...2_000).map { RecordedGateway.point($0) }
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await history.store(batch)
        let hub = try await self.hub(positions: 2_000)
        let last = hasGap ? LiveEventID(epoch: 1, number: 1, time: UnixTime(1)) : nil
        let stream = try #require(hub.open(LiveSelection(.everything, reads: .all), for: self.caller, after: last) {})
        let paper = Paper { stream.end(.expired) }
        var writer: any ResponseBodyWriter = paper
        try await LiveWriter(stream: stream, hub: hub, history: history).write(to: &writer)
        let pieces = paper.text.written.withLock { $0 }
        #expect(pieces.count == 3 && pieces[1].contains("event: position"))
        #expect(pieces.last == "event: end\ndata: {\"reason\":\"expired\"}\n\n")
        try await history.close()
    }

    @Test func lostUpdatesOfACutStreamAreCounted() async throws {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let dropped = Mutex(0)
        let hub = LiveHub(events: events, dropped: { count in dropped.withLock { $0 += count } }) { _, _ in }
        let stream = try #require(
            hub.open(LiveSelection(.everything, reads: .all), for: self.caller, after: nil) {})
        let van = try TrackableID("van")
        let detail = ["text": JSONValue.text(String(repeating: "x", count: 120_000))]
        for seq in 1...UInt64(300) {
            received.yield(
                .event(
                    van,
                    TrackingEvent(
                        id: "e", stream: try #require(StreamID("one")), seq: seq, time: UnixTime(5),
                        kind: .lowBattery, detail: detail)))
        }
        received.finish()
        await hub.run()
        #expect((250...280).contains(dropped.withLock { $0 }), "what waited when it was 32 MB")
        guard case .ended(.tooSlow) = await stream.next() else {
            Issue.record("the stream goes on")
            return
        }
    }

    @Test func aReaderThatIgnoresTheEndIsDisconnected() async throws {
        let hub = try await self.hub(positions: 1)
        let cuts = Mutex(0)
        let selection = LiveSelection(.everything, reads: .all)
        let stream = try #require(hub.open(selection, for: self.caller, after: nil) { cuts.withLock { $0 += 1 } })
        #expect(stream.check(at: self.moment(10)) == nil)
        stream.end(.expired)
        #expect(stream.check(at: self.moment(20)) == self.moment(25).now)
        #expect(stream.check(at: self.moment(24)) == self.moment(25).now)
        #expect(cuts.withLock { $0 } == 0)
        #expect(stream.check(at: self.moment(25)) == nil)
        #expect(cuts.withLock { $0 } == 1)
    }

    @Test(arguments: [false, true]) func theHubWaitsForTheSubscriptions(isAnswered: Bool) async throws {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let hub = LiveHub(events: events, isSettled: { false }, settling: { _ in isAnswered }) { _, _ in }
        #expect(await hub.settled() == isAnswered)
        withExtendedLifetime(received) {}
    }

    @Test func aStreamEndsWithItsSpan() async throws {
        let hub = try await self.hub(positions: 1)
        var selection = LiveSelection(.everything, reads: .all)
        selection.span = UnixTime(0)..<UnixTime(1_030)
        let stream = try #require(hub.open(selection, for: self.caller, after: nil) {})
        #expect(stream.check(at: self.moment(10)) == self.moment(30).now)
        #expect(!stream.isOver)
        #expect(stream.check(at: self.moment(30)) == self.moment(35).now)
        #expect(stream.isOver)
    }

    /// A revoked share link whose span still runs.
    @Test func aReaderThatIgnoresAnEarlyEndIsDisconnectedBeforeTheEndOfTheSpan() async throws {
        let hub = try await self.hub(positions: 1)
        var selection = LiveSelection(.everything, reads: .all)
        selection.span = UnixTime(0)..<UnixTime(4_600)
        let cuts = Mutex(0)
        let stream = try #require(hub.open(selection, for: self.caller, after: nil) { cuts.withLock { $0 += 1 } })
        #expect(stream.check(at: self.moment(10)) == self.moment(3_600).now)
        stream.end(.changed)
        #expect(stream.check(at: self.moment(20)) == self.moment(25).now)
        #expect(cuts.withLock { $0 } == 0)
        #expect(stream.check(at: self.moment(25)) == nil)
        #expect(cuts.withLock { $0 } == 1)
    }

    /// The client did not read between two heartbeats. The newer one waits for it, and not none.
    @Test func aHeartbeatReplacesAnUnwrittenOne() async throws {
        let stream = LiveStream(
            id: try #require(LiveStreamID("one")), caller: self.caller,
            selection: LiveSelection(.everything, reads: .all), opened: UnixTime(1000), opening: .snapshot([])
        ) {}
        let ids = (1...2).map { LiveEventID(epoch: 7, number: $0, time: UnixTime(1000)) }
        for id in ids { stream.beat(id) }
        let step = Task { await stream.next() }
        let limit = Task {
            try await Task.sleep(for: .seconds(30))
            step.cancel()
        }
        #expect(await step.value == .heartbeat(ids[1], canResume: true))
        limit.cancel()
    }

    /// A body writer that yields each piece of text that is written.
    private struct Tape: ResponseBodyWriter {
        let pieces: AsyncStream<String>.Continuation

        mutating func write(_ buffer: ByteBuffer) async throws { self.pieces.yield(String(buffer: buffer)) }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws { self.pieces.finish() }
    }

    @Test func theBeginningAndTheEndOfTheBrokersDropsAreReported() async throws {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let sinceDrop = Mutex<Duration?>(nil)
        let hub = LiveHub(events: events, timeSinceDrop: { sinceDrop.withLock { $0 } }) { _, _ in }
        let stream = try #require(hub.open(LiveSelection(.everything, reads: .all), for: self.caller, after: nil) {})
        let (pieces, written) = AsyncStream.makeStream(of: String.self)
        let tasks = [
            Task { await hub.run() },
            Task {
                var writer: any ResponseBodyWriter = Tape(pieces: written)
                try? await LiveWriter(stream: stream, hub: hub, history: nil).write(to: &writer)
            },
        ]
        var (piece, reports) = (pieces.makeAsyncIterator(), [String]())
        let memory = LiveState.dropMemory
        for (number, time) in [nil, .zero, memory - .seconds(1), memory, nil].enumerated() {
            sinceDrop.withLock { $0 = time }
            received.yield(try Sample.location(self.van, UInt64(number + 1), time: 1_790_000_000 + Double(number)))
            while let text = await piece.next(), !text.contains("event: position") {
                if text.contains("event: broker") { reports.append("\(number) \(text)") }
            }
        }
        let data = "event: broker\ndata: {\"dropped\":"
        #expect(reports == ["1 \(data)true}\n\n", "3 \(data)false}\n\n"])
        stream.end(.closed)
        received.finish()
        for task in tasks { await task.value }
    }

    /// The moment this many seconds after the time 1000.
    private func moment(_ seconds: Int) -> Moment {
        Moment(now: MonotonicTime(.seconds(seconds)), wall: UnixTime(Double(1_000 + seconds)))
    }

    @Test func theHubReportsTrackablesWithAClearedPosition() async throws {
        let (cleared, clear) = AsyncStream.makeStream(of: (TrackableID, Location?).self)
        let hub = try await self.hub(positions: 3, cleared: { clear.yield(($0, $1)) }, clears: true)
        var iterator = cleared.makeAsyncIterator()
        let (id, last) = try #require(await iterator.next())
        #expect(id.rawValue == "van-3" && last?.seq == 3 && hub.liveState.known(id)?.position == nil)
    }
}
