import Testing
import TrackingCore
import TrackingStore

/// The contract of every store at the edges of time, of the map and of the known streams.
struct StoreEdgeTests {
    /// A point without a number that arrives before its time, and again after it.
    @Test(arguments: StoreSubject.allCases) func aPointThatCameTooEarlyIsTheLastInTheEnd(subject: StoreSubject)
        async throws
    {
        try await subject.run { test in
            try await test.use { store in
                var loose = try point(9, at: now.seconds + 3600)
                (loose.seq, loose.stream) = (nil, nil)
                _ = try await store.store(batch([point(1), loose]))
                #expect(try await store.lastPositions(of: nil).map(\.location) == [point(1)])
                #expect(try await store.verify(trackable("van"))?.unnumberedClockFaults == 1)
                let later = try await store.store(batch([loose], at: UnixTime(now.seconds + 3550)))
                #expect(later.stored == 0 && later.duplicates == 1)
                #expect(try await store.lastPositions(of: nil).map(\.location) == [loose])
                #expect(try await store.verify(trackable("van"))?.unnumberedClockFaults == 0)
                // The point may arrive again unchanged.
                _ = try await store.store(batch([loose]))
                #expect(try await store.lastPositions(of: nil).map(\.location) == [loose])
            }
        }
    }

    /// Everything is acknowledged, so that the event blocks nothing behind it.
    @Test func anEventWithTooLargeADetailIsAGapWithAReason() async throws {
        try await StoreSubject.sqlite.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            func event(_ seq: Int, _ bytes: Int) -> String {
                let text = String(repeating: "x", count: bytes)
                return #"{"id":"e","stream":"one","seq":\#(seq),"time":9,"kind":"VISIT","detail":{"a":"\#(text)"}}"#
            }
            let payload = #"{"batch":"b","stream":"one","oldest":1,"events":[\#(event(1, 20_000)),\#(event(2, 2))]}"#
            var read = RecordingBatch()
            read.received(
                IncomingMessage(topic: "tracking/van/history", payload: Array(payload.utf8)[...], isRetained: false),
                root: try TopicRoot("tracking"), at: now)
            let received = read
            try await test.use { store in
                let report = try await store.store(received)
                #expect(report.refused == 1 && report.acknowledgements[van]?.streams == [one: 2])
                let events = try await store.events(of: van, during: .all, after: nil, limit: 10)
                #expect(events.map(\.seq) == [2])
                let refused = try #require(try await store.quarantined(limit: 10).first)
                #expect(refused.seq == 1 && refused.reason.contains("at most 16384 bytes"))
                #expect(refused.payload.count == RefusedMessage.maximumPayloadBytes)
            }
        }
    }

    /// An earlier version stored larger details, and ids with control characters.
    @Test func recordsStoredBeforeTheLimitsAreStillRead() async throws {
        try await StoreSubject.sqlite.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            let event = TrackingEvent(
                id: "e", stream: one, seq: 1, time: now, kind: .paused,
                detail: ["a": .text(String(repeating: "x", count: 100_000))])
            let trip = Trip(id: "a\u{1B}", mode: "\u{202E}", start: now, stream: one, seq: 2)
            var recording = Recording(of: van, at: now)
            recording.events = [RecordedDocument(event, json: MessageCodec.encode(event))]
            recording.trips = [RecordedDocument(trip, json: MessageCodec.encode(trip))]
            var stored = RecordingBatch()
            stored.recordings = [recording]
            let batch = stored
            try await test.use { store in
                _ = try await store.store(batch)
                #expect(try await store.events(of: van, during: .all, after: nil, limit: 10) == [event])
                #expect(try await store.trips(of: van, during: .all, after: nil, limit: 10) == [trip])
            }
        }
    }

    /// A meridian of 180° is that of -180°, whichever of them a box or a point names.
    @Test(arguments: StoreSubject.allCases) func theAntimeridianIsOfBothSides(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                for (name, longitude) in [("east", 180.0), ("west", -180)] {
                    // A full run, and one that is not full.
                    let there = try points(1...300).map { each in
                        var point = each
                        point.coordinate = try #require(Coordinate(latitude: 10, longitude: longitude))
                        return point
                    }
                    _ = try await store.store(batch(there, of: name))
                }
                let both = try [trackable("east"), trackable("west")]
                for (west, east) in [(170.0, 180.0), (-180, -170), (170, -170), (180, 180), (-180, 180)] {
                    let box = try #require(GeoBox(south: 5, west: west, north: 15, east: east))
                    #expect(try await store.trackables(in: box, during: .all) == both, "\(west)…\(east)")
                    for id in both {
                        #expect(try await store.allPoints(PointQuery(id, in: box), limit: 1000).count == 300)
                    }
                }
                let beside = try #require(GeoBox(south: 5, west: -179, north: 15, east: 179))
                #expect(try await store.trackables(in: beside, during: .all) == [])
            }
        }
    }

    /// The spatial index does not grow when a file is imported every night.
    @Test(arguments: StoreSubject.allCases) func repeatedPointsAreIndexedOnce(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                let file = try batch(
                    (1...1500).map { (seq: UInt64) in
                        var loose = try point(seq, at: now.seconds - 9000 + Double(seq) * 5)
                        (loose.seq, loose.stream) = (nil, nil)
                        return loose
                    })
                let box = try #require(GeoBox(south: 52.05, west: -9, north: 52.06, east: -8))
                for time in 1...4 {
                    #expect(try await store.store(file).stored == (time == 1 ? 1500 : 0))
                    #expect(try await store.runs() == (time == 1 ? 5 : 6), "the last run is full when it comes again")
                    let found = try await store.allPoints(PointQuery(trackable("van"), in: box), limit: 1000)
                    #expect(found.count == 101)
                }
            }
        }
    }

    /// Only records of the erased time count as erased, for several streams with gaps and events.
    @Test(arguments: StoreSubject.allCases) func onlyTheNumbersOfTheErasedTimeCountAsErased(subject: StoreSubject)
        async throws
    {
        try await subject.run { test in
            try await test.use { store in
                let two = try stream("two")
                var loose = try point(1)
                (loose.seq, loose.stream) = (nil, nil)
                let event = TrackingEvent(
                    id: "e", stream: two, seq: 6, time: UnixTime(now.seconds + 3), kind: .lowBattery, detail: [:])
                let all = try points(1...10) + points(12...30) + points(2...5, of: "two") + points(7...30, of: "two")
                _ = try await store.store(
                    batch(all + [loose]) { $0.events = [RecordedDocument(event, json: MessageCodec.encode(event))] })
                let limit = UnixTime(now.seconds + 21)
                let report = try await store.erase(trackable("van"), before: limit, now: UnixTime(now.seconds + 99))
                #expect(report.points == 38 && report.events == 1)
                let known = try await store.coverage(of: trackable("van"))
                #expect(
                    try known[stream("one")]?.ranges == [
                        .init(.erased, 1...10), .init(.erased, 12...20), .init(.stored, 21...30),
                    ])
                #expect(known[two]?.ranges == [.init(.erased, 2...20), .init(.stored, 21...30)])
            }
        }
    }

    /// A track that leaves and enters the box, briefly or for long, with several points of one time.
    @Test(arguments: StoreSubject.allCases) func pointsOutsideABoxAreReported(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                let stays: [UInt64: ClosedRange<UInt64>] = [0: 3...3, 1: 40...45, 2: 700...1900, 3: 2999...3000]
                let track = try (1...3000).map { (seq: UInt64) in
                    var loose = try point(seq, at: now.seconds - 9000 + Double(seq / 2) * 5)
                    (loose.seq, loose.stream) = (nil, nil)
                    let isOutside = stays.values.contains { $0.contains(seq) }
                    loose.coordinate = try #require(
                        Coordinate(latitude: isOutside ? 60 : 52, longitude: Double(seq) / 100))
                    return loose
                }
                _ = try await store.store(batch(track))
                let box = try #require(GeoBox(south: 51, west: -180, north: 53, east: 180))
                let query = try PointQuery(trackable("van"), in: box)
                let found = try await store.allPoints(query, limit: 500).map(\.location)
                var leftOut = LeftOutPoints(query, in: store)
                for (last, next) in zip(found, found.dropFirst()) {
                    let isAny = track.contains { last.time < $0.time && $0.time < next.time }
                    #expect(try await leftOut.areAny(after: last.time, before: next) == isAny, "\(next.time)")
                }
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func everyGapIsCounted(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                _ = try await store.store(batch((1...1500).map { try point($0 * 2) }))
                let report = try #require(try await store.verify(trackable("van")))
                #expect(report.streams.first?.undeclaredGaps.count == 1500)
            }
        }
    }
}
