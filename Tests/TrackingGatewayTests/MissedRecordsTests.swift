import Foundation
import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber

@testable import TrackingGateway
@testable import TrackingRules

/// Webhooks get the records that were published while no gateway was running.
@Suite(.timeLimit(.minutes(5))) struct MissedRecordsTests {
    private let folder = TemporaryFolder()
    private let van: TrackableID
    private let stream: StreamID
    private let start = 1_700_000_000.0

    init() throws {
        self.van = try TrackableID("van-7")
        self.stream = try #require(StreamID("abcdefgh"))
    }

    private func point(_ seq: UInt64) throws -> Location {
        var point = Location(
            coordinate: try #require(Coordinate(latitude: 52, longitude: -8)),
            time: UnixTime(self.start + Double(seq)))
        (point.stream, point.seq) = (self.stream, seq)
        return point
    }

    private func event(_ seq: UInt64) -> TrackingEvent {
        TrackingEvent(
            id: "e\(seq)", stream: self.stream, seq: seq, time: UnixTime(self.start + Double(seq)), kind: .paused)
    }

    private func trip(_ seq: UInt64) -> Trip {
        Trip(id: "t1", mode: "car", start: UnixTime(self.start), stream: self.stream, seq: seq)
    }

    private func moved(_ seq: UInt64, skipped: [UInt64] = []) throws -> SubscriberEvent {
        let skipped = try skipped.map { try self.point($0) }
        let update = LocationUpdate(location: try self.point(seq), skipped: skipped)
        return .location(
            self.van, ReceivedUpdate(update: update, skipped: skipped, isLate: false, isRetained: false))
    }

    /// Returns a history with these points and events, and the last version of a trip.
    private func history(_ points: [UInt64], _ events: [UInt64], _ trip: UInt64) async throws -> SQLiteHistoryStore {
        let history = try SQLiteHistoryStore(path: self.folder.url.appending(path: "history.sqlite").path())
        var recording = Recording(of: self.van, at: UnixTime(self.start + 100))
        recording.points = try points.map { try self.point($0) }
        recording.events = events.map { RecordedDocument(self.event($0), json: MessageCodec.encode(self.event($0))) }
        recording.trips = [RecordedDocument(self.trip(trip), json: MessageCodec.encode(self.trip(trip)))]
        var batch = RecordingBatch()
        batch.recordings = [recording]
        _ = try await history.store(batch)
        return history
    }

    /// Runs a rules service of all kinds with the events of `heard`.
    private func keep(
        _ history: (any HistoryStore)?, at second: Double,
        _ body: (_ received: AsyncStream<SubscriberEvent>.Continuation) async throws -> Void
    ) async throws {
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let now = UnixTime(self.start + second)
        let keeper = RulesService(
            configuration: .init(kinds: Set(Outbox.Kind.allCases), readers: ["hook"], seed: 7) { now },
            database: try self.folder.database(), events: events, history: history,
            effects: RulesService.Effects { (_, _) throws(TrackingError) in })
        let running = Task { try await keeper.run() }
        received.yield(.connection(nil))
        try await body(received)
        running.cancel()
        _ = try? await running.value
    }

    /// The kinds and numbers of the records for the webhook, sorted.
    private func delivered() async throws -> [String] {
        let outbox = Outbox(try self.folder.database())
        let kinds = Set(Outbox.Kind.allCases)
        return try await outbox.next("hook", kinds: kinds, ownAlone: false, limit: 100).entries.map { entry in
            let payload = try JSONValue(json: entry.payload.utf8)
            let seq = payload["location"]?["properties"]?["seq"] ?? payload["seq"]
            return "\(entry.kind.rawValue) \(seq?.count ?? 0)"
        }.sorted()
    }

    /// Waits for a number of records.
    private func delivers(_ count: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await self.delivered().count < count {
            let delivered = try await self.delivered()
            try #require(ContinuousClock.now < deadline, "\(delivered)")
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    @Test func recordsOfAnOutageAreReadFromTheHistory() async throws {
        try await Outbox(try self.folder.database()).begin("hook")
        let history = try await self.history([1, 2, 3, 6, 9], [4, 7, 10], 8)
        try await self.keep(history, at: 5) { received in
            for event in [
                try self.moved(3, skipped: [2]), .event(self.van, self.event(4)), .trip(self.van, self.trip(5)),
            ] {
                received.yield(event)
            }
            try await self.delivers(3)
        }
        let before = ["event 4", "position 3", "trip 5"]
        #expect(try await self.delivered() == before, "the first run has missed nothing")
        // Records 6, 7 and 8 were published during the outage. A record that is received live was not missed.
        let since = ["event 10", "event 7", "position 6", "position 9", "trip 8"]
        try await self.keep(history, at: 60) { received in
            received.yield(try self.moved(9))
            received.yield(.event(self.van, self.event(10)))
            received.yield(.positionsKept([self.van]))
            try await self.delivers(before.count + since.count)
        }
        #expect(try await self.delivered() == (before + since).sorted())
        // All records were sent by now.
        try await self.keep(history, at: 70) { received in
            received.yield(.positionsKept([self.van]))
            try await Task.sleep(for: .seconds(2))
        }
        #expect(try await self.delivered() == (before + since).sorted())
        try await history.close()
    }

    @Test func soIsWhatHappenedWhileItWasNotConnected() async throws {
        try await Outbox(try self.folder.database()).begin("hook")
        let history = try await self.history([1, 2], [3], 4)
        try await self.keep(history, at: 5) { received in
            received.yield(try self.moved(1))
            received.yield(.connection(Disconnection(reason: nil, retry: .seconds(1), lasted: nil)))
            received.yield(.connection(nil))
            received.yield(.positionsKept([self.van]))
            try await self.delivers(4)
        }
        #expect(try await self.delivered() == ["event 3", "position 1", "position 2", "trip 4"])
        try await history.close()
    }

    /// The recording lane repeats the records, and so does the live lane after a restart.
    @Test func aRepeatedRecordIsSentOnce() async throws {
        try await Outbox(try self.folder.database()).begin("hook")
        var past = self.trip(3)
        (past.state, past.end) = (.ended, UnixTime(self.start + 3))
        for second in [10.0, 20] {
            try await self.keep(nil, at: second) { received in
                received.yield(.positionsKept([self.van]))
                for event in [.event(self.van, self.event(7)), .tripRecorded(self.van, past)] as [SubscriberEvent] {
                    received.yield(event)
                    received.yield(event)
                }
                received.yield(.event(self.van, self.event(2)))
                received.yield(.event(self.van, self.event(UInt64(second))))
                try await self.delivers(second == 10 ? 4 : 5)
            }
        }
        #expect(try await self.delivered() == ["event 10", "event 2", "event 20", "event 7", "trip 3"])
    }

    @Test func withoutAHistoryItGoesOn() async throws {
        try await Outbox(try self.folder.database()).begin("hook")
        for second in [1.0, 2] {
            try await self.keep(nil, at: second) { received in
                received.yield(.positionsKept([self.van]))
                received.yield(.event(self.van, self.event(UInt64(second))))
                try await self.delivers(Int(second))
            }
        }
        #expect(try await self.delivered() == ["event 1", "event 2"])
    }
}
