import TestSupport
import Testing
import TrackingCore

/// A store whose rows may lack the last points, and that may discard its memory. It reads the same state again.
struct PointTailTests {
    @Test func pointsInOrderLeaveTheRows() throws {
        var store = TailedStore()
        store.store([point(1), point(2)])
        let written = store.written
        for seq in UInt64(3)...14 { store.store([point(seq)]) }
        #expect(store.written == written, "nothing but the points")
        let loaded = try #require(store.load(van))
        #expect(loaded.last?.seq == 14 && loaded.run?.count == 14 && loaded.tail?.seqs == 3...14)
        #expect(loaded.acknowledgement.streams == [stream: 14])
    }

    /// Any recording other than the next point of the stream with a later time causes a write of the rows.
    @Test(arguments: [
        [point(4)], [point(3, at: now.seconds - 1)], [point(3, at: now.seconds + 7 * 86_400)], [point(nil)],
        [point(1, of: StreamID("two"))], [point(3), point(5)],
        // A place in another box, and a pause that begins another run.
        [point(3), point(4, at: now.seconds + 3), point(5), point(6), point(700)],
    ]) func anyOtherRecordingWritesTheRows(points: [Location]) {
        var store = TailedStore()
        store.store([point(1), point(2)])
        let written = store.written
        store.store(points)
        #expect(store.written > written)
        #expect(store.load(van)?.tail == nil)
    }

    @Test func aTailIsBounded() {
        var store = TailedStore()
        for seq in UInt64(1)...500 {
            var next = point(seq, at: now.seconds + Double(seq) / 10)
            next.coordinate = Coordinate(latitude: 52, longitude: -8.66)!  // in range
            store.store([next])
            #expect((store.load(van)?.tail?.seqs.count ?? 0) <= PointTail.maximumCount)
        }
        #expect(store.written < 20)
        #expect(store.runs.map(\.run.count) == [256])
    }

    @Test func settlingWritesThePendingPoints() {
        var store = TailedStore()
        for seq in UInt64(1)...9 { store.store([point(seq)]) }
        store.settle(van)
        #expect(store.load(van)?.tail == nil)
        #expect(store.load(van)?.last?.seq == 9)
        let written = store.written
        store.settle(van)
        #expect(store.written == written)
    }

    /// A morning of records of all kinds, mostly in order, in batches of any size. The memory is discarded at random
    /// times.
    @Test(arguments: Seeds.first(60)) func reloadedStateEqualsTheKnownState(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var pieces = RecordingLedgerTests.pieces
        for _ in 0..<Int.random(in: 0...20, using: &random) {
            let (one, other) = (
                Int.random(in: pieces.indices, using: &random), Int.random(in: pieces.indices, using: &random)
            )
            pieces.swapAt(one, other)
            pieces.append(pieces[one])
        }
        var expected = ModelStore()
        for piece in pieces { expected.store(RecordingLedgerTests.batch([piece])) }
        var store = TailedStore()
        while !pieces.isEmpty {
            let count = min(pieces.count, Int.random(in: 1...4, using: &random))
            store.store(
                RecordingLedgerTests.batch(Array(pieces.prefix(count))),
                leavingTails: Int.random(in: 0..<8, using: &random) > 0)
            pieces.removeFirst(count)
            let (known, loaded) = (store.ledger[van], store.load(van))
            #expect(loaded?.last == known?.last && loaded?.recent == known?.recent, "seed \(seed)")
            #expect(loaded?.run?.count == known?.run?.count && loaded?.run?.last == known?.run?.last, "seed \(seed)")
            for id in known?.recent ?? [] {
                #expect(loaded?.streams[id]?.coverage == known?.streams[id]?.coverage, "seed \(seed)")
            }
            #expect(loaded?.tail == known?.tail, "seed \(seed)")
            #expect(store.isEveryPointInARun, "seed \(seed)")
            if Int.random(in: 0..<6, using: &random) == 0 { store.forget() }
        }
        #expect(store.acknowledgements == expected.acknowledgements, "seed \(seed)")
        let coverage = store.load(van)?.streams.values.map(\.coverage.ranges)
        #expect(Set(coverage ?? []) == Set(expected.tables.coverage.values), "seed \(seed)")
    }
}

/// Tables in memory, and a ledger that is filled from them.
private struct TailedStore {
    private(set) var ledger = RecordingLedger()
    private(set) var acknowledgements: [TrackableID: Acknowledgement] = [:]
    private(set) var runs: [RunRow] = []
    /// The number of written rows other than points.
    private(set) var written = 0
    private var points: [PointRow] = []
    private var trackables: [TrackableID: RecordingLedger.Trackable] = [:]
    private var coverage: [Int64: [UInt64: StreamCoverage.Range]] = [:]
    private var ends: [Int64: UInt64] = [:]
    private var streams: [StreamID: Int64] = [:]

    mutating func store(_ points: [Location]) {
        var recording = Recording(of: van, at: now)
        recording.points = points
        self.store(RecordingLedgerTests.batch([recording]), leavingTails: true)
    }

    mutating func store(_ batch: RecordingBatch, leavingTails: Bool) {
        for missing in self.ledger.missing(for: batch) {
            for id in missing.streams where self.streams[id] == nil { self.streams[id] = Int64(self.streams.count + 1) }
            var trackable = self.load(missing.trackable) ?? RecordingLedger.Trackable(number: 1)
            for id in missing.streams where trackable.streams[id] == nil { trackable.streams[id] = self.stream(id) }
            self.ledger.fill(missing.trackable, trackable)
        }
        let changes = self.ledger.apply(batch, leavingTails: leavingTails)
        for row in changes.points where !self.points.contains(where: { $0.name == row.name }) {
            self.points.append(row)
        }
        self.write(changes)
        self.acknowledgements.merge(changes.acknowledgements) { $1 }
    }

    mutating func settle(_ id: TrackableID) {
        if let trackable = self.load(id) { self.ledger.fill(id, trackable) }
        self.write(self.ledger.settle(id))
    }

    mutating func forget() { self.ledger = RecordingLedger() }

    private mutating func write(_ changes: RecordingChanges) {
        for (number, change) in changes.coverage {
            let difference = change.difference
            for first in difference.removed {
                let row = self.coverage[number]?.removeValue(forKey: first)
                #expect(row != nil)
            }
            for range in difference.written { self.coverage[number, default: [:]][range.seqs.lowerBound] = range }
            self.ends[number] = change.after.end
        }
        for trackable in changes.trackables.values { self.trackables[van] = trackable }
        self.runs += changes.runs
        self.written += changes.coverage.count + changes.trackables.count
    }

    /// The state of a trackable that its rows and the later points contain.
    func load(_ id: TrackableID) -> RecordingLedger.Trackable? {
        guard let row = self.trackables[id] else { return nil }
        var trackable = RecordingLedger.Trackable(number: row.number)
        (trackable.last, trackable.recent, trackable.run) = (row.last, row.recent, row.run?.widened)
        for id in row.recent { trackable.streams[id] = self.stream(id) }
        for row in self.tail(of: trackable) { trackable.follow(row.name, at: row.location.coordinate) }
        return trackable
    }

    private func tail(of trackable: RecordingLedger.Trackable) -> [PointRow] {
        guard let last = trackable.last else { return [] }
        return self.points.filter {
            $0.location.time > last.time && $0.stream == last.stream && $0.seq > last.seq && !$0.hasClockFault
        }.sorted { $0.location.time < $1.location.time }
    }

    private func stream(_ id: StreamID) -> RecordingLedger.Stream? {
        self.streams[id].map {
            RecordingLedger.Stream(
                number: $0, coverage: StreamCoverage((self.coverage[$0] ?? [:]).values, end: self.ends[$0]))
        }
    }

    /// `true` when a spatial search finds every point: in a run, or in the row's box of the open run.
    var isEveryPointInARun: Bool {
        let runs = self.runs.map(\.run) + [self.trackables[van]?.run?.widened].compactMap(\.self)
        return self.points.allSatisfy { row in
            runs.contains { run in
                let last = run.last == self.trackables[van]?.last?.time ? UnixTime(.infinity) : run.last
                return (run.first...last).contains(row.location.time)
                    && (run.south...run.north).contains(row.location.coordinate.latitude)
                    && (run.west...run.east).contains(row.location.coordinate.longitude)
            }
        }
    }
}
