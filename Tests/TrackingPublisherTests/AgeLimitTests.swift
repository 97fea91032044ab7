import Logging
import Testing
import TrackingCore

@testable import TrackingPublisher

/// `--keep-days` and a clock that jumps.
@Suite(.timeLimit(.minutes(5))) struct AgeLimitTests {
    private static let twentyYears: Duration = .seconds(20 * 365 * 86_400)

    @Test func aJumpAheadIsNotBelieved() throws {
        var talk = try PublisherConversation.online()
        _ = talk.wait(.seconds(1))
        #expect(talk.machine.ages.isGiven)
        talk.clockStep = Self.twentyYears
        _ = try talk.fix(at: 1)
        #expect(!talk.machine.ages.isGiven)
        let coordinate = try #require(Coordinate(latitude: 0, longitude: 1))
        var fix = Location(coordinate: coordinate, time: UnixTime(1001 + Self.twentyYears.inSeconds))
        fix.source = .network
        _ = talk.happened(.fix(fix, raw: fix))
        #expect(!talk.machine.ages.isGiven, "GeoClue uses the same clock")
        fix.source = .gps
        _ = talk.happened(.fix(fix, raw: fix))
        #expect(talk.machine.ages.isGiven, "the receiver says the same")
    }

    @Test(arguments: [(true, false, 1), (false, true, 1), (false, false, 2)])
    func whereTheClockIsNotBelievedNothingGoesForItsAge(
        knowsAges: Bool, isSynchronized: Bool, left: Int
    ) async throws {
        let now = UnixTime(1_790_000_000)
        let storage = InMemorySpool()
        _ = try await storage.open(now: now)
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        try await storage.append(
            [2, 0].enumerated().map { index, days in
                let time = UnixTime(now.seconds - Double(days) * 86_400 - 1)
                let record = SpoolRecord(seq: UInt64(index + 1), time: time, kind: .point, payload: [1])
                return SpoolEntry(record, of: van, in: stream)
            })
        let worker = LogWorker(
            storage: storage, limits: SpoolLimits(maximumAge: .seconds(86_400)), logger: Logger(label: "test"),
            isClockSynchronized: { isSynchronized }, clock: { now })
        worker.knowsAges = knowsAges
        worker.finish()
        await worker.run { _, _ in }
        #expect(try await storage.summary().total.count == left)
    }

    @Test(arguments: [(true, false, 0), (false, true, 0), (false, false, 1)])
    func whereTheClockIsNotBelievedNothingIsForgottenForItsAge(
        knowsAges: Bool, isSynchronized: Bool, known: Int
    ) async throws {
        let now = UnixTime(1_790_000_000)
        let storage = InMemorySpool()
        _ = try await storage.open(now: now)
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        func entry(_ seq: UInt64) throws -> SpoolEntry {
            let digest = try #require(RecordDigest([UInt8](repeating: UInt8(seq), count: RecordDigest.size)))
            let record = SpoolRecord(seq: seq, time: now, kind: .point, payload: [1])
            return SpoolEntry(record, of: van, in: stream, mark: RecordMark(time: now, digest: digest))
        }
        let (first, second) = (try entry(1), try entry(2))
        try await storage.append([first], state: [:], now: now)
        let worker = LogWorker(
            storage: storage, limits: SpoolLimits(), logger: Logger(label: "test"),
            isClockSynchronized: { isSynchronized }, clock: { now.advanced(by: Self.twentyYears) })
        worker.knowsAges = knowsAges
        worker.ask([(van, .append(stream, second.record, mark: second.mark))])
        worker.finish()
        await worker.run { _, _ in }
        #expect(try await storage.known([try #require(first.mark)], of: van).count == known)
    }
}
