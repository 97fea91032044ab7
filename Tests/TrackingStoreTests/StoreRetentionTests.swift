import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// The records that are removed by an erasure or by their age, and those that remain.
struct StoreRetentionTests {
    private func refused(_ name: String?, at seconds: Double) throws -> RefusedMessage {
        RefusedMessage(
            topic: "tracking/\(name ?? "+")", receivedAt: UnixTime(now.seconds + seconds),
            trackable: try name.map(trackable),
            reason: "bad", payload: Array("somewhere".utf8))
    }

    @Test(arguments: StoreSubject.allCases) func futureRecordsAreNotErased(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                _ = try await store.store(batch(points(1...10)))
                let at = UnixTime(now.seconds + 100)
                let report = try await store.erase(trackable("van"), before: UnixTime(now.seconds + 1e9), now: at)
                #expect(report.points == 10)
                #expect(try await store.verify(trackable("van"))?.erasedBefore == at)
                #expect(try await store.store(batch(points(90...110))).stored == 11)
            }
        }
    }

    /// The times of unreadable messages are unknown.
    @Test(arguments: StoreSubject.allCases) func theQuarantineIsErasedAsAWhole(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                var all = try batch(points(1...10))
                all.refused = try [
                    self.refused("van", at: 0), self.refused("van", at: 500), self.refused("bus", at: 0),
                ]
                _ = try await store.store(all)
                let report = try await store.erase(
                    trackable("van"), before: UnixTime(now.seconds + 3), now: UnixTime(now.seconds + 600))
                #expect(report.points == 2 && report.quarantined == 2)
                #expect(try await store.quarantined(limit: 10).map(\.trackable?.rawValue) == ["bus"])
            }
        }
    }

    /// A device sends a refused message until it is acknowledged. It is quarantined once, and not again after it was
    /// erased.
    @Test(arguments: StoreSubject.allCases) func anErasedQuarantineStaysErased(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            var again = try batch([point(1)])
            again.refused = [
                RefusedMessage(
                    topic: "tracking/van/history", receivedAt: now, trackable: van, stream: one, seq: 2, reason: "bad",
                    payload: Array("somewhere".utf8))
            ]
            try await test.use { store in
                for refused in [1, 0] {
                    let report = try await store.store(again)
                    #expect(report.refused == refused && report.acknowledgements[van]?.streams == [one: 2])
                }
                #expect(try await store.quarantined(limit: 10).count == 1)
                for before in [UnixTime(now.seconds - 1000), nil] {
                    _ = try await store.erase(van, before: before, now: UnixTime(now.seconds + 600))
                    #expect(try await store.store(again).refused == 0)
                    #expect(try await store.quarantined(limit: 10) == [])
                    #expect(try await store.coverage(of: van)[one]?[.erased].contains(2) == true)
                }
            }
        }
    }

    /// The remaining rows do not reveal an erased place.
    @Test(arguments: StoreSubject.allCases) func anOpenRunsBoxIsRemovedWithItsPoints(subject: StoreSubject) async throws
    {
        try await subject.run { test in
            try await test.use { store in
                _ = try await store.store(batch(points(1...5)))
                _ = try await store.store(batch(points(1...5), of: "bus"))
                _ = try await store.store(batch([point(6, at: now.seconds + 2000)], of: "bus"))
                #expect(
                    try await store.removeExpired(before: UnixTime(now.seconds + 1000), of: nil, except: []) == 10)
                #expect(try await store.openBoxes() == ["bus"])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func expiredQuarantineIsRemoved(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, bus) = (try trackable("van"), try trackable("bus"))
            try await test.use { store in
                var all = RecordingBatch()
                for name in ["van", "bus", nil] {
                    all.refused += try [self.refused(name, at: 0), self.refused(name, at: 9)]
                }
                _ = try await store.store(all)
                func left() async throws -> [String] {
                    try await store.quarantined(limit: 10).map {
                        "\($0.trackable?.rawValue ?? "-") \(Int($0.receivedAt.seconds - now.seconds))"
                    }.sorted()
                }
                let limit = UnixTime(now.seconds + 5)
                _ = try await store.removeExpired(before: limit, of: [van], except: [])
                #expect(try await left() == ["- 0", "- 9", "bus 0", "bus 9", "van 9"])
                _ = try await store.removeExpired(before: limit, of: nil, except: [bus])
                #expect(try await left() == ["- 9", "bus 0", "bus 9", "van 9"])
            }
        }
    }

    /// A trackable that is only watched has no points. Its watchers' presences are removed all the same.
    @Test(arguments: StoreSubject.allCases) func presencesGoWithoutPoints(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                for second in 1...20 {
                    let at = UnixTime(now.seconds + Double(second))
                    let json = second.isMultiple(of: 2) ? Array("{}".utf8) : nil
                    _ = try await store.store(batch(at: at) { $0.state = StateChange("subscriber/desk", json: json) })
                }
                _ = try await store.removeExpired(before: UnixTime(now.seconds + 16), of: nil, except: [])
                let report = try await store.erase(trackable("van"), before: nil, now: UnixTime(now.seconds + 30))
                #expect(report.states == 5, "those of 16 to 20 are left")
            }
        }
    }

    /// The removal needs several transactions, with many records of one time, while another batch is stored.
    @Test(arguments: StoreSubject.allCases) func muchIsRemovedInParts(subject: StoreSubject) async throws {
        try await subject.run { test in
            let later = UnixTime(now.seconds + 50_000)
            try await test.use { store in
                for first in stride(from: UInt64(1), to: 11_000, by: 1000) {
                    _ = try await store.store(batch(points(first...(first + 999)), at: later))
                }
                let crowd = try (20_001...21_000).map { try point($0, at: now.seconds + 4990) }
                _ = try await store.store(batch(crowd, at: later))
                async let removed = store.removeExpired(
                    before: UnixTime(now.seconds + 10_901), of: nil, except: [])
                for seq in UInt64(1)...20 { _ = try await store.store(batch([point(30_000 + seq)], at: later)) }
                #expect(try await removed == 11_900)
                #expect(try await store.allPoints(limit: 1000).count == 120)
                #expect(
                    try await store.removeExpired(before: UnixTime(now.seconds + 40_000), of: nil, except: []) == 120)
                #expect(try await store.lastPositions(of: nil) == [])
                let box = try #require(GeoBox(south: -90, west: -180, north: 90, east: 180))
                #expect(try await store.trackables(in: box, during: .all) == [])
                // The removal continues.
                #expect(try await store.store(batch([point(40_001)], at: later)).stored == 1)
                #expect(try await store.lastPositions(of: nil).map(\.location.seq) == [40_001])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func tripsAreFoundWhileTheyWereUnderWay(subject: StoreSubject) async throws
    {
        try await subject.run { test in
            func trip(_ id: String, from start: Double, lasting duration: Double, ends: Bool) throws -> Trip {
                var trip = Trip(
                    id: id, mode: "car", start: UnixTime(now.seconds + start), stream: try stream("one"),
                    seq: UInt64(start) + 1)
                trip.duration = duration
                if ends { (trip.state, trip.end) = (.ended, UnixTime(now.seconds + start + duration)) }
                return trip
            }
            let trips = try [
                trip("early", from: 0, lasting: 60, ends: true), trip("long", from: 100, lasting: 9000, ends: true),
                trip("lost", from: 200, lasting: 60, ends: false), trip("late", from: 8000, lasting: 60, ends: true),
            ]
            try await test.use { store in
                for trip in trips {
                    _ = try await store.store(
                        batch { $0.trips = [RecordedDocument(trip, json: MessageCodec.encode(trip))] })
                }
                func found(_ from: Double, _ to: Double) async throws -> [String] {
                    try await store.allTrips(
                        of: trackable("van"),
                        during: TimeSpan(from: UnixTime(now.seconds + from), to: UnixTime(now.seconds + to))
                    ).map(\.id)
                }
                #expect(try await found(50, 150) == ["early", "long"])
                #expect(try await found(1000, 1500) == ["long", "lost"], "its end may still come")
                #expect(try await found(3000, 8000) == ["long"])
                #expect(try await found(8000, 8001) == ["long", "late"])
                #expect(
                    try await store.trips(
                        of: trackable("van"), during: .all, after: trips[1], limit: 1
                    ).map(\.id) == ["lost"])
            }
        }
    }
}
