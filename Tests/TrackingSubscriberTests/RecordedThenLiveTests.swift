import Synchronization
import Testing
import TrackingCore

@testable import TrackingSubscriber

@Suite struct RecordedThenLiveTests {
    private func point(_ seq: UInt64, numbered: Bool = true) throws -> Location {
        let place = try #require(Coordinate(latitude: 52 + Double(seq) * 1e-4, longitude: -8.66))
        var point = Location(coordinate: place, time: UnixTime(1_790_000_000 + Double(seq)))
        if numbered { (point.stream, point.seq) = (StreamID("one"), seq) }
        return point
    }

    private func live(_ point: Location, skipped: [Location] = []) throws -> SubscriberEvent {
        let update = LocationUpdate(location: point, skipped: skipped)
        return .location(
            try TrackableID("van"), ReceivedUpdate(update: update, skipped: skipped, isLate: false, isRetained: false))
    }

    /// A store that has more points at each reading, in pages of two.
    private func recorded(_ states: [[Location]]) -> RecordedPoints {
        let readings = Mutex(0)
        return { _, from, after in
            let reading = readings.withLock { count in
                if after == nil { count += 1 }
                return count
            }
            let all = states[min(reading, states.count) - 1].filter { $0.time >= from }
            let rest = all.filter { point in after.map { point.time > $0.time } ?? true }
            let page = Array(rest.prefix(2))
            let next = rest.count > 2 ? page.last.map { PointName(time: $0.time, stream: 1, seq: 0) } : nil
            return (page, next)
        }
    }

    /// The delivered points as seconds after the start: the skipped points of each update, then its own.
    private func seconds(
        _ live: [SubscriberEvent], within patience: Duration = .seconds(600), _ recorded: @escaping RecordedPoints
    ) async throws -> [Int] {
        let (stream, continuation) = AsyncStream.makeStream(of: SubscriberEvent.self)
        for event in live { continuation.yield(event) }
        continuation.finish()
        var delivered: [Int] = []
        let events = RecordedThenLive(
            live: stream, since: UnixTime(1_790_000_000), of: [try TrackableID("van")],
            patience: patience, recorded: recorded)
        for try await event in events {
            guard case .location(_, let received) = event else { continue }
            delivered += (received.skipped + [received.update.location]).map { Int($0.time.seconds - 1_790_000_000) }
        }
        return delivered
    }

    @Test(arguments: [true, false]) func eachPointIsDeliveredOnceInOrder(numbered: Bool) async throws {
        let points = try (1...9).map { try self.point($0, numbered: numbered) }
        let live = try [
            self.live(points[4], skipped: [points[3]]), self.live(points[6], skipped: [points[5]]),
            self.live(points[8]),
        ]
        #expect(try await self.seconds(live, self.recorded([Array(points[...4])])) == [1, 2, 3, 4, 5, 6, 7, 9])
    }

    @Test func newlyRecordedPointsComeBeforeTheFirstLivePosition() async throws {
        let points = try (1...9).map { try self.point($0) }
        // The recorder lags twice, and then has all points before the first live position.
        let states = [points[...2], points[...2], points[...4], points[...6]].map { Array($0) }
        let live = try [self.live(points[6]), self.live(points[8], skipped: [points[7]])]
        #expect(try await self.seconds(live, self.recorded(states)) == [1, 2, 3, 4, 5, 6, 7, 8, 9])
    }

    @Test func aPointThatWasStoredLateIsDelivered() async throws {
        let points = try (1...5).map { try self.point($0) }
        let first = [points[0], points[1], points[3]]
        #expect(try await self.seconds([self.live(points[4])], self.recorded([first, points])) == [1, 2, 4, 3, 5])
    }

    @Test func aLaggingRecorderIsAwaitedForALimitedTime() async throws {
        let points = try (1...3).map { try self.point($0) }
        let start = ContinuousClock.now
        let delivered = try await self.seconds(
            [self.live(points[2])], within: .milliseconds(300), self.recorded([[points[0]]]))
        #expect(delivered == [1, 3])
        #expect(ContinuousClock.now - start >= .milliseconds(300))
    }

    /// The history has the bus at odd seconds, the van at even ones, and no points of the tram.
    @Test func severalTrackablesComeByTime() async throws {
        let ids = try ["van", "tram", "bus"].map { try TrackableID($0) }
        let points = try (1...9).map { try self.point($0) }
        let (live, continuation) = AsyncStream.makeStream(of: SubscriberEvent.self)
        continuation.finish()
        let events = RecordedThenLive(live: live, since: UnixTime(0), of: ids) { id, _, after in
            let own = points.filter { id != ids[1] && ($0.seq ?? 0) % 2 == (id == ids[0] ? 0 : 1) }
            let rest = own.filter { point in after.map { point.time > $0.time } ?? true }
            let next = rest.count > 2 ? PointName(time: rest[1].time, stream: 1, seq: 0) : nil
            return (Array(rest.prefix(2)), next)
        }
        var delivered: [UInt64] = []
        for try await event in events {
            if case .location(let id, let received) = event {
                let seq = try #require(received.update.location.seq)
                #expect(id == (seq % 2 == 0 ? ids[0] : ids[2]))
                delivered.append(seq)
            }
        }
        #expect(delivered == Array(1...9))
    }

    @Test func aFailedReadingIsAnError() async throws {
        let live = [try self.live(self.point(1))]
        await #expect(throws: TrackingError(.storeFailed, "gone")) {
            _ = try await self.seconds(live) { _, _, _ throws(TrackingError) in
                throw TrackingError(.storeFailed, "gone")
            }
        }
    }
}
