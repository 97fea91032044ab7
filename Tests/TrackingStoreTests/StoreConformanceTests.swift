import Testing
import TrackingCore
import TrackingStore

/// The contract of every store.
struct StoreConformanceTests {
    @Test(arguments: StoreSubject.allCases) func everyMemberOfAPointComesBack(subject: StoreSubject) async throws {
        try await subject.run { test in
            var bare = try point(2)
            (bare.seq, bare.stream) = (nil, nil)
            var full = try fullPoint(1)
            full.extra = Array(#"{"name":"Ümläut", "deep":[1,2],"gone":null,"id":9007199254740993,"x":1.10}"#.utf8)
            let stored = [full, bare]
            try await test.use { store in
                let report = try await store.store(batch(stored))
                #expect(report.stored == 2 && report.duplicates == 0)
            }
            let read = try await test.use { try await $0.allPoints() }
            #expect(read.map(\.location) == stored)
            #expect(read.allSatisfy { !$0.hasClockFault })
        }
    }

    @Test(arguments: StoreSubject.allCases) func noZeroHasASign(subject: StoreSubject) async throws {
        try await subject.run { test in
            var zero = try fullPoint(1)
            zero.coordinate = try #require(Coordinate(latitude: -0.0, longitude: -0.0))
            (zero.altitude, zero.bearing, zero.speed, zero.batteryLevel) = (-0.0, -0.0, -0.0, -0.0)
            (zero.accuracyHorizontal, zero.accuracyVertical) = (-0.0, -0.0)
            (zero.accuracyBearing, zero.accuracySpeed) = (-0.0, -0.0)
            try await test.use { store in
                _ = try await store.store(batch([zero]))
                let read = try #require(try await store.allPoints().first).location
                #expect(read == zero)
                let numbers = [
                    read.coordinate.latitude, read.coordinate.longitude, read.altitude, read.bearing, read.speed,
                    read.batteryLevel, read.accuracyHorizontal, read.accuracyVertical, read.accuracyBearing,
                    read.accuracySpeed,
                ]
                #expect(numbers.allSatisfy { $0?.sign == .plus }, "\(numbers)")
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func eachRecordIsStoredOnce(subject: StoreSubject) async throws {
        try await subject.run { test in
            var loose = try point(99)
            loose.seq = nil
            try await test.use { store in
                _ = try await store.store(batch(points(1...5) + [loose]))
                let again = try await store.store(batch(points(3...7) + [loose, loose]))
                #expect(again.stored == 2 && again.duplicates == 5)
            }
            try await test.use { store in
                let later = try await store.store(batch(points(1...8) + [loose]))
                #expect(later.stored == 1 && later.duplicates == 8)
                #expect(try await store.allPoints().count == 9)
                let report = try #require(try await store.verify(trackable("van")))
                #expect(report.points == 9 && report.unnumbered == 1)
                #expect(report.streams.map(\.duplicates) == [10])
            }
        }
    }

    /// The letter é as one and as two code points: Unicode considers them equivalent, topics and stores do not.
    @Test(arguments: StoreSubject.allCases) func namesAreDistinguishedByTheirBytes(subject: StoreSubject) async throws {
        try await subject.run { test in
            let names = ["caf\u{E9}", "cafe\u{301}"]
            try await test.use { store in
                for name in names {
                    var recording = Recording(of: try trackable(name), at: now)
                    recording.points = try names.flatMap { try points(1...3, of: $0) }
                    var batch = RecordingBatch()
                    batch.recordings = [recording]
                    #expect(try await store.store(batch).stored == 6)
                }
                for name in names {
                    let coverage = try await store.coverage(of: trackable(name))
                    for each in names { #expect(try coverage[stream(each)]?.ranges == [.init(.stored, 1...3)]) }
                }
                let listed = try await store.allTrackables()
                #expect(listed.map { Array($0.rawValue.utf8) } == [names[1], names[0]].map { Array($0.utf8) })
                _ = try await store.erase(trackable(names[1]), before: nil, now: now)
                #expect(try await store.verify(trackable(names[0]))?.points == 6)
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func theCoverageIsThatOfTheReport(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                _ = try await store.store(batch(points(1...5) + points(9...9) + points(2...3, of: "two")))
                let coverage = try await store.coverage(of: trackable("van"))
                #expect(coverage.count == 2)
                #expect(try coverage[stream("one")]?.ranges == [.init(.stored, 1...5), .init(.stored, 9...9)])
                #expect(try coverage[stream("two")]?.undeclaredGaps() == [1...1])
                #expect(try await store.coverage(of: trackable("nobody")).isEmpty)
                _ = try await store.store(batch(of: "bus"))
                #expect(try await store.allTrackables().map(\.rawValue) == ["bus", "van"])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func handledRecordsAreAcknowledged(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            try await test.use { store in
                let first = try await store.store(batch([point(1), point(2), point(5)]))
                #expect(first.acknowledgements == [van: Acknowledgement(streams: [one: 2])])
                let report = try #require(try await store.verify(van))
                #expect(report.streams.map(\.undeclaredGaps) == [[3...4]] && !report.isComplete)
            }
            try await test.use { store in
                #expect(try await store.acknowledgement(of: van).streams == [one: 2])
                let declared = try await store.store(
                    batch { $0.declaration = StreamDeclaration(stream: one, gone: [3...4], end: 6) })
                #expect(declared.acknowledgements[van]?.streams == [one: 5])
                #expect(try await store.acknowledgement(of: trackable("nobody")).streams.isEmpty)
            }
            let report = try #require(try await test.use { try await $0.verify(van) })
            let coverage = try #require(report.streams.first).coverage
            #expect(
                coverage[.gone].ranges == [3...4] && coverage[.stored].ranges == [1...2, 5...5] && coverage.end == 6)
            #expect(report.streams.map(\.undeclaredGaps) == [[6...6]])
        }
    }

    @Test(arguments: StoreSubject.allCases) func theLastEightStreamsAreKnownAfterOpening(subject: StoreSubject)
        async throws
    {
        try await subject.run { test in
            let van = try trackable("van")
            let before = try await test.use { store in
                for number in 1...11 { _ = try await store.store(batch([point(1, of: "s\(number)")])) }
                return try await store.store(batch([point(2, of: "s1")])).acknowledgements[van]
            }
            #expect(before?.streams.count == 8)
            #expect(try await test.use { try await $0.acknowledgement(of: van) } == before)
            // The order of streams continues.
            let after = try await test.use { try await $0.store(batch([point(1, of: "s12")])).acknowledgements[van] }
            let seqs = try ["s12", "s1", "s5", "s6"].map { after?.streams[try stream($0)] }
            #expect(seqs == [1, 2, nil, 1])
        }
    }

    @Test(arguments: StoreSubject.allCases) func aPositionFromNextWeekIsNeverTheLast(subject: StoreSubject) async throws
    {
        try await subject.run { test in
            try await test.use { store in
                _ = try await store.store(batch([point(1), point(2, at: now.seconds + 7 * 86_400)]))
                #expect(try await store.lastPositions(of: nil).map(\.location) == [point(1)])
                #expect(try await store.allPoints().map(\.hasClockFault) == [false, true])
                #expect(try await store.verify(trackable("van"))?.streams.first?.clockFaults == 1)
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func aPointAtZeroZeroIsFlaggedAndNeverTheLast(subject: StoreSubject)
        async throws
    {
        try await subject.run { test in
            try await test.use { store in
                var nowhere = try point(2)
                nowhere.coordinate = try #require(Coordinate(latitude: 0, longitude: 0))
                _ = try await store.store(batch([point(1), nowhere]))
                #expect(try await store.lastPositions(of: nil).map(\.location) == [point(1)])
                #expect(try await store.allPoints().map(\.hasClockFault) == [false, true])
                #expect(try await store.verify(trackable("van"))?.streams.first?.clockFaults == 0)
            }
            // The same after opening.
            #expect(try await test.use { try await $0.lastPositions(of: nil).map(\.location) } == [point(1)])
        }
    }

    @Test(arguments: StoreSubject.allCases) func lastPositionsAreFoundByNameAndPlace(subject: StoreSubject) async throws
    {
        try await subject.run { test in
            try await test.use { store in
                for (index, name) in ["c", "a", "b"].enumerated() {
                    _ = try await store.store(batch(points(1...UInt64(10 * (index + 1))), of: name))
                }
                let all = try await store.lastPositions(of: nil)
                #expect(all.map(\.trackable.rawValue) == ["a", "b", "c"])
                #expect(all.map(\.location.seq) == [20, 30, 10])
                let some = try await store.lastPositions(of: [trackable("c"), trackable("nobody")])
                #expect(some.map(\.trackable.rawValue) == ["c"])
                #expect(try await store.lastPositions(after: nil, limit: 2) == Array(all.prefix(2)))
                #expect(try await store.lastPositions(after: trackable("a"), limit: 9) == Array(all.dropFirst()))
                #expect(try await store.lastPositions(after: trackable("c"), limit: 1) == [])
                let near = all.near(try point(21).coordinate, within: 101)
                #expect(near.map(\.trackable.rawValue) == ["a", "b"])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func simultaneousPointsHaveOneLast(subject: StoreSubject)
        async throws
    {
        try await subject.run { test in
            try await test.use { store in
                var loose = try point(7, at: now.seconds)
                (loose.seq, loose.stream) = (nil, nil)
                let all = try [point(9, of: "aa", at: now.seconds), point(1, of: "zz", at: now.seconds), loose]
                for (name, order) in [("a", [0, 1, 2]), ("b", [2, 1, 0]), ("c", [1, 2, 0])] {
                    for index in order { _ = try await store.store(batch([all[index]], of: name)) }
                    let (id, zz) = (try trackable(name), try stream("zz"))
                    #expect(try await store.lastPositions(of: [id]).map(\.location.stream) == [zz], "\(name)")
                }
                #expect(try await store.lastPositions(of: nil).map(\.location) == [all[1], all[1], all[1]])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func pagesHaveEveryPointOnce(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                _ = try await store.store(batch(points(1...400)))
                // Three streams at one time are on one page, ordered by name.
                for name in ["z", "x", "y"] {
                    _ = try await store.store(batch((1...4).map { try point($0, of: name, at: now.seconds + 7) }))
                }
                let all = try await store.allPoints(limit: 1000).map(\.location)
                #expect(all.count == 412)
                for limit in [1, 3, 7, 100] {
                    #expect(try await store.allPoints(limit: limit).map(\.location) == all, "pages of \(limit)")
                }
                let tied = all.filter { $0.time.seconds == now.seconds + 7 }.map {
                    "\($0.stream?.rawValue ?? "")\($0.seq ?? 0)"
                }
                #expect(tied == ["one7", "x1", "x2", "x3", "x4", "y1", "y2", "y3", "y4", "z1", "z2", "z3", "z4"])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func aQueryNarrowsByTimePlaceAndTrip(subject: StoreSubject) async throws {
        try await subject.run { test in
            let van = try trackable("van")
            try await test.use { store in
                var all = try points(1...1000)
                for index in 300..<400 { all[index].tripID = "t" }
                _ = try await store.store(batch(all))
                _ = try await store.store(batch(points(5000...5010), of: "bus"))
                func seqs(_ query: PointQuery) async throws -> [UInt64?] {
                    try await store.allPoints(query, limit: 50).map(\.location.seq)
                }
                let times = TimeSpan(from: UnixTime(now.seconds + 10), to: UnixTime(now.seconds + 20))
                #expect(try await seqs(PointQuery(van, during: times)) == Array(10...19))
                #expect(try await seqs(PointQuery(van, tripID: "t")) == Array(301...400))
                let box = try #require(GeoBox(south: 52.02495, west: -9, north: 52.05005, east: -8))
                #expect(try await seqs(PointQuery(van, in: box)) == Array(250...500))
                let later = TimeSpan(from: UnixTime(now.seconds + 490))
                #expect(try await seqs(PointQuery(van, during: later, in: box)) == Array(490...500))
                #expect(try await store.trackables(in: box, during: .all) == [van])
                #expect(try await store.trackables(in: box, during: TimeSpan(to: now)) == [])
                let wide = try #require(GeoBox(south: 52, west: -9, north: 53, east: -8))
                #expect(try await store.trackables(in: wide, during: .all).map(\.rawValue) == ["bus", "van"])
                #expect(try await seqs(PointQuery(trackable("nobody"))) == [])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func tripsEventsAndStatesAreKept(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            var trip = Trip(id: "t", mode: "car", start: now, stream: one, seq: 1)
            var ended = trip
            (ended.state, ended.seq, ended.duration, ended.end) = (.ended, 3, 60, UnixTime(now.seconds + 60))
            trip.duration = 10
            let event = TrackingEvent(
                id: "e", stream: one, seq: 2, time: now, kind: .lowBattery, detail: ["level": .number(0.1)])
            try await test.use { store in
                // The last version arrives first.
                for version in [ended, trip] {
                    _ = try await store.store(
                        batch { $0.trips = [RecordedDocument(version, json: MessageCodec.encode(version))] })
                }
                for _ in 1...2 {
                    let report = try await store.store(
                        batch { $0.events = [RecordedDocument(event, json: MessageCodec.encode(event))] })
                    #expect(report.acknowledgements[van]?.streams == [one: 3])
                }
                #expect(try await store.trips(of: van, during: .all, after: nil, limit: 10) == [ended])
                #expect(try await store.events(of: van, during: .all, after: nil, limit: 10) == [event])
                #expect(try await store.events(of: van, during: TimeSpan(to: now), after: nil, limit: 10) == [])
            }
        }
    }

    /// A page may end between records of the same time.
    @Test(arguments: StoreSubject.allCases) func manyTripsAndEventsOfOneTimeAreAllRead(subject: StoreSubject)
        async throws
    {
        try await subject.run { test in
            let van = try trackable("van")
            try await test.use { store in
                var recording = Recording(of: van, at: now)
                for (name, seqs) in [("two", UInt64(1)...600), ("one", 1...601)] {
                    for seq in seqs {
                        let at = UnixTime(now.seconds + (seq < 100 ? 0 : 1))
                        let trip = Trip(
                            id: "\(name)-\(seq)", mode: "car", start: at, stream: try stream(name), seq: seq)
                        recording.trips.append(RecordedDocument(trip, json: MessageCodec.encode(trip)))
                        // The same id twice at one time is two events.
                        let event = TrackingEvent(
                            id: "e", stream: try stream(name), seq: 1000 + seq, time: at, kind: .lowBattery, detail: [:]
                        )
                        recording.events.append(RecordedDocument(event, json: MessageCodec.encode(event)))
                    }
                }
                var batch = RecordingBatch()
                batch.recordings = [recording]
                #expect(try await store.store(batch).stored == 2402)
                let trips = try await store.allTrips(of: van, during: .all)
                #expect(trips.count == 1201 && Set(trips.map(\.id)).count == 1201)
                let events = try await store.allEvents(of: van, during: .all)
                #expect(events.count == 1201)
                let names = events.map { "\($0.stream.rawValue) \($0.seq)" }
                #expect(Set(names).count == 1201 && names[98...99] == ["one 1099", "two 1001"])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func aQuarantinedRecordCountsAsHandled(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            let refused = RefusedMessage(
                topic: "tracking/van/history", receivedAt: now, trackable: van, stream: one, seq: 2, reason: "latitude",
                payload: [0, 1, 255])
            let stray = RefusedMessage(topic: "tracking/a+b", receivedAt: now, reason: "no id", payload: [])
            try await test.use { store in
                var both = try batch([point(1), point(3)])
                both.refused = [refused, stray]
                let report = try await store.store(both)
                #expect(report.refused == 2 && report.acknowledgements[van]?.streams == [one: 3])
                #expect(try await store.quarantined(limit: 10) == [stray, refused])
            }
            let report = try #require(try await test.use { try await $0.verify(van) })
            #expect(report.isComplete && report.streams.first?.coverage[.refused].ranges == [2...2])
        }
    }

    @Test(arguments: StoreSubject.allCases) func quarantineIsBounded(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                var many = RecordingBatch()
                many.refused = (0..<6000).map {
                    RefusedMessage(topic: "t\($0)", receivedAt: now, reason: "bad", payload: [])
                }
                for _ in 1...2 { _ = try await store.store(many) }
                let kept = try await store.quarantined(limit: .max)
                #expect((9000...StoreLimits.quarantine).contains(kept.count) && kept.first?.topic == "t5999")
            }
        }
    }

    /// A trackable with many unreadable messages displaces only its own.
    @Test(arguments: StoreSubject.allCases) func quarantinedRecordsOfOthersRemain(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                var first = RecordingBatch()
                first.refused = [
                    RefusedMessage(
                        topic: "tracking", receivedAt: now, reason: RefusedMessage.possibleGapReason, payload: [])
                ]
                first.refused += try (1...50).map {
                    RefusedMessage(
                        topic: "b\($0)", receivedAt: now, trackable: try trackable("bus"), reason: "bad", payload: [])
                }
                #expect(try await store.store(first).refused == 50, "a possible gap is no refused message")
                var many = RecordingBatch()
                many.refused = try (0..<6000).map {
                    RefusedMessage(
                        topic: "t\($0)", receivedAt: now, trackable: try trackable("evil"), reason: "bad", payload: [])
                }
                for _ in 1...3 { _ = try await store.store(many) }
                let kept = try await store.quarantined(limit: .max)
                #expect(kept.count <= StoreLimits.quarantine + 1)
                #expect(kept.filter { $0.trackable?.rawValue == "bus" }.count == 50)
                #expect(try await store.verify(trackable("bus"))?.possibleGaps == [now])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func notesOfPossibleGapsAreBounded(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                var many = RecordingBatch()
                many.refused = (0..<1500).map {
                    RefusedMessage(
                        topic: "tracking", receivedAt: UnixTime(now.seconds + Double($0)),
                        reason: RefusedMessage.possibleGapReason, payload: [])
                }
                _ = try await store.store(many)
                let kept = try await store.quarantined(limit: .max)
                #expect(kept.count == StoreLimits.keptGaps && kept.first == many.refused.last)
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func theNewestTimesAreKnown(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                #expect(try await store.newest() == NewestTimes())
                let at = UnixTime(now.seconds + 9)
                _ = try await store.store(batch(points(1...3), at: at))
                _ = try await store.store(
                    batch(at: at) { $0.state = StateChange("resolution", json: Array("{}".utf8)) })
                let newest = try await store.newest()
                #expect(newest.state == at)
                #expect((now.seconds...now.seconds + 3).contains(newest.position?.seconds ?? 0))
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func erasedRecordsStayErased(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            let later = UnixTime(now.seconds + 5000)
            try await test.use { store in
                _ = try await store.store(batch(points(1...600)))
                _ = try await store.store(batch(points(1...5), of: "bus"))
                let report = try await store.erase(van, before: nil, now: later)
                #expect(report.points == 600)
                #expect(try await store.allPoints() == [])
                #expect(try await store.lastPositions(of: [van]) == [])
            }
            try await test.use { store in
                // The whole log arrives again, with records that had not arrived before.
                let again = try await store.store(batch(points(1...700), at: later))
                #expect(again.stored == 0 && again.acknowledgements[van]?.streams == [one: 700])
                let new = try await store.store(batch([point(701, at: later.seconds + 1)], at: later))
                #expect(new.stored == 1)
                #expect(try await store.allPoints(of: "bus").count == 5)
                let box = try #require(GeoBox(south: 52, west: -9, north: 52.05, east: -8))
                #expect(try await store.trackables(in: box, during: .all) == [trackable("bus")])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func aPartOfTimeIsErased(subject: StoreSubject) async throws {
        try await subject.run { test in
            let van = try trackable("van")
            try await test.use { store in
                _ = try await store.store(batch(points(1...600), at: UnixTime(now.seconds + 600)))
                let report = try await store.erase(van, before: UnixTime(now.seconds + 301), now: now)
                #expect(report.points == 300)
                #expect(try await store.allPoints(limit: 100).map(\.location.seq) == Array(301...600))
                #expect(try await store.lastPositions(of: nil).map(\.location.seq) == [600])
                let again = try await store.store(batch(points(290...601), at: UnixTime(now.seconds + 601)))
                #expect(again.stored == 1)
                let box = try #require(GeoBox(south: 52.04995, west: -9, north: 53, east: -8))
                #expect(
                    try await store.allPoints(PointQuery(van, in: box)).map(\.location.seq) == Array(500...601))
                let gone = try #require(GeoBox(south: 52, west: -9, north: 52.02, east: -8))
                #expect(try await store.trackables(in: gone, during: .all) == [])
            }
        }
    }

    @Test(arguments: StoreSubject.allCases) func expiredRecordsAreRemovedAndNotStoredAgain(subject: StoreSubject)
        async throws
    {
        try await subject.run { test in
            let (van, bus) = (try trackable("van"), try trackable("bus"))
            try await test.use { store in
                for name in ["van", "bus"] { _ = try await store.store(batch(points(1...600), of: name)) }
                let limit = UnixTime(now.seconds + 401)
                #expect(try await store.removeExpired(before: limit, of: nil, except: [bus]) == 400)
                #expect(try await store.allPoints().count == 200)
                #expect(try await store.allPoints(of: "bus").count == 600)
                #expect(try await store.store(batch(points(1...600))).stored == 0)
                #expect(try await store.removeExpired(before: limit, of: [bus], except: []) == 400)
                #expect(try await store.trackables(after: nil, limit: 10).map(\.id) == [bus, van])
                #expect(try await store.trackables(after: bus, limit: 10).map(\.first) == [limit])
                let ghost = try trackable("ghost")
                #expect(
                    try await store.summaries(of: [van, ghost, bus, van]) == store.trackables(after: nil, limit: 10))
                #expect(try await store.summaries(of: []) == [])
            }
        }
    }

    /// Single points are not written to every row at once. Readers find them nevertheless.
    @Test(arguments: StoreSubject.allCases) func pointsOneByOneAreReadByOthers(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, one) = (try trackable("van"), try stream("one"))
            try await test.use { store in
                for seq in UInt64(1)...30 { _ = try await store.store(batch([point(seq)])) }
                try await test.use { other in
                    #expect(try await other.acknowledgement(of: van).streams == [one: 30])
                    #expect(try await other.coverage(of: van)[one]?.ranges == [StreamCoverage.Range(.stored, 1...30)])
                    #expect(try await other.verify(van)?.streams.first?.coverage.handledThrough == 30)
                    #expect(try await other.lastPositions(of: nil).map(\.location.seq) == [30])
                    #expect(try await other.lastPositions(of: [van]).map(\.location.seq) == [30])
                    #expect(try await other.trackables(after: nil, limit: 1).map(\.last) == [point(30).time])
                    #expect(try await other.summaries(of: [van]).map(\.last) == [point(30).time])
                    let box = try #require(GeoBox(south: 52.00299, west: -8.7, north: 52.00301, east: -8.6))
                    let times = TimeSpan(from: UnixTime(now.seconds + 29.5), to: UnixTime(now.seconds + 30.5))
                    #expect(try await other.trackables(in: box, during: times) == [van])
                    let found = try await other.allPoints(PointQuery(van, during: times, in: box))
                    #expect(found.map(\.location.seq) == [30])
                    // Both stores continue.
                    #expect(try await other.store(batch([point(30), point(31)])).duplicates == 1)
                    #expect(try await store.store(batch([point(31), point(32)])).duplicates == 1)
                    #expect(try await other.store(batch([point(32), point(33)])).duplicates == 1)
                }
                #expect(try await store.verify(van)?.isComplete == true)
                #expect(try await store.allPoints().map(\.location.seq) == (1...33).map(UInt64?.init))
            }
        }
    }

    /// Removed points leave their numbers, including those that no row has yet.
    @Test(arguments: StoreSubject.allCases) func pointsOneByOneAreErasedAndRemoved(subject: StoreSubject) async throws {
        try await subject.run { test in
            let (van, bus) = (try trackable("van"), try trackable("bus"))
            try await test.use { store in
                for name in ["van", "bus"] {
                    for seq in UInt64(1)...30 { _ = try await store.store(batch([point(seq)], of: name)) }
                }
                try await test.use { other async throws in
                    let limit = UnixTime(now.seconds + 21)
                    #expect(try await other.removeExpired(before: limit, of: [van], except: []) == 20)
                    #expect(try await other.erase(bus, before: limit, now: now.advanced(by: .seconds(60))).points == 20)
                    #expect(try await other.store(batch(points(1...30))).stored == 0)
                }
                #expect(try await store.store(batch(points(1...30))).stored == 0)
                #expect(try await store.store(batch(points(1...31), of: "bus")).stored == 1)
                #expect(
                    try await store.removeExpired(before: now.advanced(by: .seconds(60)), of: nil, except: []) == 21)
                #expect(try await store.store(batch(points(1...31))).stored == 1)
                #expect(try await store.verify(van)?.isComplete == true)
                #expect(try await store.verify(bus)?.isComplete == true)
            }
        }
    }

    /// A drive in two streams, shuffled, doubled and split over batches, gives the same history.
    @Test(arguments: StoreSubject.allCases, UInt64(1)...10) func anyOrderGivesTheSame(
        subject: StoreSubject, seed: UInt64
    ) async throws {
        try await subject.run { test in
            var random = SplitMix64(seed: seed)
            var all = try points(1...120) + points(1...80, of: "two")
            for index in all.indices where index.isMultiple(of: 10) { (all[index].seq, all[index].stream) = (nil, nil) }
            let expected = Set(all)
            all += all.filter { _ in Bool.random(using: &random) }
            all.shuffle(using: &random)
            let (one, two) = (try stream("one"), try stream("two"))
            try await test.use { store in
                while !all.isEmpty {
                    let count = min(all.count, Int.random(in: 1...60, using: &random))
                    _ = try await store.store(batch(Array(all.prefix(count))))
                    all.removeFirst(count)
                }
                let read = try await store.allPoints(limit: 11).map(\.location)
                #expect(read.count == expected.count && Set(read) == expected, "seed \(seed)")
                let order = expected.sorted {
                    ($0.time, $0.stream?.rawValue ?? "", $0.seq ?? 0) < (
                        $1.time, $1.stream?.rawValue ?? "", $1.seq ?? 0
                    )
                }
                #expect(read == order, "seed \(seed)")
                let report = try #require(try await store.verify(trackable("van")))
                #expect(report.streams.map(\.id) == [one, two])
            }
        }
    }
}
