import TestSupport
import Testing
import TrackingCore

struct RecordingLedgerTests {
    private func batch(_ points: [Location], at receivedAt: UnixTime = now) -> RecordingBatch {
        var recording = Recording(of: van, at: receivedAt)
        recording.points = points
        var batch = RecordingBatch()
        batch.recordings = [recording]
        return batch
    }

    @Test func aPositionFromNextWeekIsStoredAndNeverTheLast() {
        var store = ModelStore()
        store.store(self.batch([point(1), point(2, at: now.seconds + 7 * 86_400)]))
        store.store(self.batch([point(3)]))
        #expect(store.tables.points.count == 3)
        #expect(store.tables.last[van]?.seq == 3)
    }

    @Test func aPointAtZeroZeroOrOfAnUnsetClockIsStoredAndNeverTheLast() throws {
        var store = ModelStore()
        var nowhere = point(2)
        nowhere.coordinate = try #require(Coordinate(latitude: 0, longitude: 0))
        var unset = point(3)
        unset.extra = Array(#"{"clock":"unset"}"#.utf8)
        store.store(self.batch([point(1), nowhere, unset]))
        #expect(store.tables.points.count == 3)
        #expect(store.tables.last[van]?.seq == 1)
        store.store(self.batch([point(4)]))
        #expect(store.tables.last[van]?.seq == 4)
    }

    /// A recorder whose clock is not set does not judge other clocks.
    @Test(arguments: [5, now.seconds - 3600]) func aClockThatIsBehindDoesNotJudgeOthers(receivedAt: Double) {
        var store = ModelStore()
        store.store(self.batch([point(1)]))
        store.store(self.batch([point(2), point(3)], at: UnixTime(receivedAt)))
        #expect(store.tables.last[van]?.seq == 3)
        #expect(RecordedTime.isFault(UnixTime(5), receivedAt: UnixTime(5)), "before 2001 all the same")
    }

    @Test func rangesOfNumbersCount() {
        var ledger = RecordingLedger()
        ledger.fill(van, sample(number: 1, streams: [stream: 2]))
        #expect(ledger.count == 2)
        var recording = Recording(of: van, at: now)
        recording.declaration = StreamDeclaration(stream: stream, gone: (1...1600).map { $0 * 2...$0 * 2 })
        _ = ledger.apply(Self.batch([recording]), leavingTails: false)
        #expect(ledger.count == 102)
        recording.declaration = StreamDeclaration(stream: stream, gone: [1...3201])
        _ = ledger.apply(Self.batch([recording]), leavingTails: false)
        #expect(ledger.count == 2)
        ledger.forget(van)
        #expect(ledger.count == 0)
    }

    /// An unknown client may name any number of streams.
    @Test func ofManyStreamsTheRecentStayKnown() throws {
        var ledger = RecordingLedger()
        for number in Int64(1)...40 {
            let id = try #require(StreamID("s\(number)"))
            ledger.fill(van, sample(number: 100, streams: [id: number]))
            _ = ledger.apply(self.batch([point(1, of: id)]), leavingTails: false)
            // A quarantined record belongs to a stream that is known until the end of the batch.
            #expect(ledger[van]?.acknowledgement.streams[id] == 1)
        }
        let known = try #require(ledger[van])
        #expect(known.streams.count < 33)
        #expect(known.recent.allSatisfy { known.streams[$0] != nil })
        #expect(ledger.count == known.streams.count + 1 + known.streams.count / 16)
        var refused = RecordingBatch()
        var trackable = sample(number: 100, streams: [:])
        for number in Int64(101)...150 {
            let id = try #require(StreamID("s\(number)"))
            trackable.streams[id] = RecordingLedger.Stream(number: number)
            refused.refused.append(
                RefusedMessage(
                    topic: "t", receivedAt: now, trackable: van, stream: id, seq: 1, reason: "bad", payload: []))
        }
        ledger.fill(van, trackable)
        let changes = ledger.apply(refused, leavingTails: false)
        #expect(changes.coverage.count == 50)
    }

    @Test func pointsWithoutNumbersDifferByTimeAndPlace() {
        var store = ModelStore()
        let (one, later) = (point(nil, at: 1_790_000_000), point(nil, at: 1_790_000_001))
        var elsewhere = one
        elsewhere.coordinate = Coordinate(latitude: -90, longitude: 180)!  // in range
        store.store(self.batch([one, later, elsewhere, one]))
        store.store(self.batch([later, elsewhere]))
        #expect(store.tables.points.count == 3)
    }

    @Test func anErasedRecordIsNotStoredAgainAndCountsAsHandled() {
        var store = ModelStore()
        store.erase(van, before: UnixTime(now.seconds + 3))
        store.store(self.batch((UInt64(1)...5).map { point($0) } + [point(nil, at: now.seconds)]))
        #expect(store.tables.points.keys.map(\.seq).sorted() == [3, 4, 5])
        #expect(store.acknowledgements[van]?.streams == [stream: 5])
    }

    @Test func theLastEightStreamsAreAcknowledged() throws {
        var store = ModelStore()
        for number in 1...10 {
            store.store(self.batch([point(1, of: StreamID("s\(number)"))]))
        }
        store.store(self.batch([point(2, of: StreamID("s2"))]))
        let acknowledged = try #require(store.acknowledgements[van]).streams
        #expect(Set(acknowledged.keys.map(\.rawValue)) == Set((4...10).map { "s\($0)" } + ["s2"]))
        #expect(acknowledged[try #require(StreamID("s2"))] == 2)
    }

    @Test func aStreamWhoseBeginningWasNeverSeenIsNotAcknowledged() {
        var store = ModelStore()
        store.store(self.batch([point(17)]))
        #expect(store.acknowledgements[van]?.streams == [:])
    }

    @Test func aQuarantinedRecordCountsAsHandled() {
        var store = ModelStore()
        var batch = self.batch([point(1), point(3)])
        batch.refused = [
            RefusedMessage(
                topic: "tracking/van/history", receivedAt: now, trackable: van, stream: stream, seq: 2, reason: "bad",
                payload: [])
        ]
        store.store(batch)
        #expect(store.acknowledgements[van]?.streams == [stream: 3])
        #expect(store.tables.coverage["van/one"]?.contains(StreamCoverage.Range(.refused, 2...2)) == true)
    }

    /// Every other record of the stream was quarantined, so that its numbers have many ranges and no gap. The next
    /// records are quarantined, stored and acknowledged all the same.
    @Test func aFullStreamWithoutGapsIsAcknowledged() {
        let most = UInt64(StreamCoverage.maximumRanges)
        var trackable = sample(number: 1, streams: [stream: 7])
        trackable.streams[stream]?.coverage = StreamCoverage(
            (1...most).map { .init($0 % 2 == 0 ? .refused : .stored, $0...$0) })
        var ledger = RecordingLedger()
        ledger.fill(van, trackable)
        var batch = RecordingBatch()
        batch.refused = [
            RefusedMessage(
                topic: "t", receivedAt: now, trackable: van, stream: stream, seq: most + 1, reason: "bad", payload: [])
        ]
        let refused = ledger.apply(batch, leavingTails: false)
        #expect(refused.tooManyGaps == [] && refused.refused.count == 1)
        #expect(refused.acknowledgements[van]?.streams == [stream: most + 1])
        let stored = ledger.apply(self.batch([point(most + 2)]), leavingTails: false)
        #expect(stored.tooManyGaps == [] && stored.points.count == 1)
        #expect(stored.acknowledgements[van]?.streams == [stream: most + 2])
    }

    /// A record, declaration or quarantined record that a full stream has no room for is not acknowledged, and is
    /// reported.
    @Test func recordsThatAFullStreamRejectsAreReported() {
        let most = UInt64(StreamCoverage.maximumRanges)
        var trackable = sample(number: 1, streams: [stream: 7])
        trackable.streams[stream]?.coverage = StreamCoverage((1...most).map { .init(.stored, ($0 * 3)...($0 * 3)) })
        var ledger = RecordingLedger()
        ledger.fill(van, trackable)
        var recording = Recording(of: van, at: now)
        recording.declaration = StreamDeclaration(stream: stream, gone: [1...2, 4...5])
        #expect(ledger.apply(Self.batch([recording]), leavingTails: false).tooManyGaps == [])
        #expect(ledger[van]?.acknowledgement.streams == [stream: 6])
        recording.declaration = StreamDeclaration(stream: stream, gone: [(3 * most + 5)...(3 * most + 5)])
        #expect(ledger.apply(Self.batch([recording]), leavingTails: false).tooManyGaps == [7])
        var batch = RecordingBatch()
        batch.refused = [3 * most + 7, 10].map {
            RefusedMessage(
                topic: "t", receivedAt: now, trackable: van, stream: stream, seq: $0, reason: "bad", payload: [])
        }
        let refused = ledger.apply(batch, leavingTails: false)
        #expect(refused.tooManyGaps == [7] && refused.refused == [], "it comes again")
        // The only missing number between two known ones.
        recording.declaration = nil
        recording.points = [point(8)]
        #expect(ledger.apply(Self.batch([recording]), leavingTails: false).points.count == 1)
        recording.points = [point(7)]
        #expect(ledger.apply(Self.batch([recording]), leavingTails: false).points.count == 1)
        #expect(ledger[van]?.acknowledgement.streams == [stream: 9])
    }

    @Test func everyPointIsInARun() {
        var store = ModelStore()
        store.store(self.batch((UInt64(1)...300).map { point($0) }))
        // Late points, from two hours earlier, between the current ones.
        store.store(self.batch([point(301), point(302, at: now.seconds - 7200)]))
        let runs = store.runs.map(\.run) + store.openRuns
        #expect(runs.reduce(0) { $0 + $1.count } == 302)
        #expect(runs.allSatisfy { $0.count <= PointRun.maximumCount && $0.last.seconds - $0.first.seconds < 3600 })
        for row in store.tables.points.values {
            #expect(
                runs.contains { run in
                    (run.first...run.last).contains(row.time)
                        && (run.south...run.north).contains(row.coordinate.latitude)
                        && (run.west...run.east).contains(row.coordinate.longitude)
                })
        }
    }

    /// Records of two streams, trips, events and declarations, shuffled, doubled and split over messages and batches of any
    /// size, give the same tables.
    @Test(arguments: Seeds.first(40)) func anyOrderGivesTheSame(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let pieces = Self.pieces
        var expected = ModelStore()
        for piece in pieces { expected.store(Self.batch([piece])) }
        var shuffled = pieces + pieces.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
        shuffled.shuffle(using: &random)
        var store = ModelStore()
        while !shuffled.isEmpty {
            let count = min(shuffled.count, Int.random(in: 1...40, using: &random))
            store.store(Self.batch(Array(shuffled.prefix(count))))
            shuffled.removeFirst(count)
        }
        #expect(store.tables == expected.tables, "seed \(seed)")
        // There are only the eight last streams.
        #expect(store.acknowledgements == expected.acknowledgements)
    }

    static func batch(_ recordings: [Recording]) -> RecordingBatch {
        var batch = RecordingBatch()
        batch.recordings = recordings
        return batch
    }

    /// A morning of two streams of a van, in pieces of one record.
    static let pieces: [Recording] = {
        var pieces: [Recording] = []
        func add(_ body: (inout Recording) -> Void) {
            var recording = Recording(of: van, at: now)
            body(&recording)
            pieces.append(recording)
        }
        for seq in UInt64(1)...150 where !(40...44).contains(seq) {
            switch seq % 25 {
            case 7:
                var trip = Trip(id: "t\(seq / 60)", mode: "car", start: now, stream: stream, seq: seq)
                trip.duration = Double(seq)
                add { $0.trips = [RecordedDocument(trip, json: MessageCodec.encode(trip))] }
            case 9:
                let event = TrackingEvent(
                    id: "e\(seq)", stream: stream, seq: seq, time: now, kind: .lowBattery)
                add { $0.events = [RecordedDocument(event, json: MessageCodec.encode(event))] }
            default: add { $0.points = [point(seq)] }
            }
        }
        for seq in UInt64(10)...60 {
            add { $0.points = [point(seq, of: StreamID("two"), at: now.seconds - Double(seq))] }
        }
        for index in 0..<20 { add { $0.points = [point(nil, at: now.seconds + 0.5 + Double(index % 15))] } }
        add { $0.declaration = StreamDeclaration(stream: stream, gone: [40...42], end: 150) }
        add { $0.declaration = StreamDeclaration(stream: stream, oldest: 20, gone: [43...44, 50...51]) }
        if let two = StreamID("two") { add { $0.declaration = StreamDeclaration(stream: two, oldest: 10) } }
        return pieces
    }()
}
