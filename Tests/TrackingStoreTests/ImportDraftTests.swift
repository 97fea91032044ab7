import Testing
import TrackingCore

@testable import TrackingStore

/// An import of points that are already stored.
struct ImportDraftTests {
    @Test(arguments: StoreSubject.allCases) func anExportedPointIsNotImportedAgain(subject: StoreSubject) async throws {
        try await subject.run { test in
            try await test.use { store in
                _ = try await store.store(batch(points(1...100) + points(1...5, of: "two")))
                let exported = try points(1...120).map(\.asImported)
                let new = try await store.newPoints(among: exported.reversed(), of: trackable("van"))
                #expect(new == exported[100...].reversed())
                #expect(try await store.newPoints(among: exported, of: trackable("other")) == exported)
                let report = try await store.store(batch(new, at: UnixTime(now.seconds + 1_000)))
                #expect(report.stored == 20 && report.duplicates == 0)
                #expect(try await store.newPoints(among: exported, of: trackable("van")).isEmpty)
                let verified = try #require(try await store.verify(trackable("van")))
                #expect(verified.points == 125 && verified.unnumbered == 20)
            }
        }
    }

    @Test func aPointAtAnotherTimeOrPlaceIsNew() throws {
        let stored = try point(1)
        var later = stored.asImported
        later.time = UnixTime(stored.time.seconds + 1e-3)
        var elsewhere = stored.asImported
        elsewhere.coordinate = try #require(Coordinate(latitude: 52.0002, longitude: -8.66))
        var draft = ImportDraft([stored.asImported, later, elsewhere])
        draft.found([StoredPoint(location: stored, hasClockFault: false)])
        #expect(draft.newPoints == [later, elsewhere])
    }

    @Test func theRoundingOfAnExportDoesNotMakeAPointNew() throws {
        var stored = try point(1)
        stored.time = UnixTime(1_790_000_000.123_456_3)
        stored.coordinate = try #require(Coordinate(latitude: -0.0, longitude: 180))
        var exported = stored.asImported
        exported.time = UnixTime(1_790_000_000.123_456)
        exported.coordinate = try #require(Coordinate(latitude: 0, longitude: -180))
        var draft = ImportDraft([exported])
        let span = try #require(draft.spans.first)
        #expect(try #require(span.from) <= stored.time && #require(span.to) > stored.time)
        draft.found([StoredPoint(location: stored, hasClockFault: false)])
        #expect(draft.newPoints.isEmpty)
    }

    @Test func theStoreCorrectsTheClockFaultOfAPointWithoutANumber() throws {
        let loose = try point(1).asImported
        var draft = ImportDraft([loose])
        draft.found([StoredPoint(location: loose, hasClockFault: true)])
        #expect(draft.newPoints == [loose])
        draft.found([StoredPoint(location: try point(1), hasClockFault: true)])
        #expect(draft.newPoints.isEmpty)
    }

    @Test func pointsFarApartAreSearchedForInSpansOfTheirOwn() throws {
        let times = [7200.0, 0, 59, 100_000, 118]
        let spans = ImportDraft(try times.map { try point(1, at: $0).asImported }).spans
        #expect(spans.map { $0.from?.seconds.rounded() } == [0, 7200, 100_000])
        #expect(spans.map { $0.to?.seconds.rounded() } == [118, 7200, 100_000])
        #expect(ImportDraft([]).spans.isEmpty)
    }
}

extension Location {
    /// The point as an import reads it from an export.
    fileprivate var asImported: Location {
        var point = self
        (point.seq, point.stream) = (nil, nil)
        return point
    }
}
