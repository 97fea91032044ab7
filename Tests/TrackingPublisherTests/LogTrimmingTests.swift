import Logging
import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the moments at which the log is trimmed.
@Suite(.timeLimit(.minutes(5))) struct LogTrimmingTests {
    private static let begin = ContinuousClock.now
    private static let day = SpoolLimits(maximumCount: 9, maximumAge: .seconds(86_400))
    /// Limits for which only the size is checked.
    private static let size = SpoolLimits(maximumCount: 9)

    private static func after(_ seconds: Double) -> ContinuousClock.Instant {
        self.begin.advanced(by: .seconds(seconds))
    }

    @Test func agesAreLookedAtFirstAndThenOnceAnHour() {
        var trimming = LogTrimming()
        let due = [0.0, 1, 3599, 3600, 3601].map { trimming.due(Self.day, grew: false, now: Self.after($0)) }
        #expect(due == [Self.day, nil, nil, Self.day, nil])
    }

    @Test func theSizeIsLookedAtWhenItGrew() {
        var trimming = LogTrimming()
        let due = [0.0, 1, 3600].map { trimming.due(Self.day, grew: true, now: Self.after($0)) }
        #expect(due == [Self.day, Self.size, Self.day])
        let none = [0.0, 1].map { trimming.due(SpoolLimits(), grew: true, now: Self.after($0)) }
        #expect(none == [nil, nil])
        let ages = SpoolLimits(maximumAge: .seconds(10))
        let small = [10.0, 10.9, 11].map { trimming.due(ages, grew: true, now: Self.after($0)) }
        #expect(small == [ages, nil, ages], "a tenth of the age")
    }

    @Test func oneAlarmIsSetUntilItRang() {
        var trimming = LogTrimming()
        #expect(trimming.takeAlarm(now: Self.after(0)) == nil)
        _ = trimming.due(Self.day, grew: false, now: Self.after(0))
        let alarms = [0.0, 1].map { trimming.takeAlarm(now: Self.after($0)) }
        #expect(alarms == [Self.after(3600), nil])
        _ = trimming.due(SpoolLimits(maximumAge: .seconds(100)), grew: false, now: Self.after(2))
        #expect(trimming.takeAlarm(now: Self.after(2)) == Self.after(12))
        _ = trimming.due(SpoolLimits(maximumAge: .seconds(100)), grew: false, now: Self.after(12))
        #expect(trimming.takeAlarm(now: Self.after(12)) == Self.after(22))
    }

    /// A log with three records, each a day old, and its worker.
    private static func bench(_ limits: SpoolLimits) async throws -> (storage: InMemorySpool, worker: LogWorker) {
        let (storage, now) = (InMemorySpool(), UnixTime(1_800_000_000))
        _ = try await storage.open(now: now)
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        try await storage.append(
            (UInt64(1)...3).map { seq in
                let time = UnixTime(now.seconds - 86_400)
                return SpoolEntry(
                    SpoolRecord(seq: seq, time: time, kind: .point, payload: [1]), of: van, in: stream)
            })
        let worker = LogWorker(
            storage: storage, limits: limits, logger: Logger(label: "test"), isClockSynchronized: { true },
            clock: { now })
        return (storage, worker)
    }

    @Test func whatIsTooOldGoesThoughNothingIsAdded() async throws {
        let (storage, worker) = try await Self.bench(SpoolLimits(maximumAge: .seconds(3600)))
        try await Self.run(worker) {
            while try await storage.summary().total.count > 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
    }

    @Test func lowerLimitsComeIntoForceThoughNothingIsAdded() async throws {
        let (storage, worker) = try await Self.bench(SpoolLimits())
        try await Self.run(worker) {
            worker.keep(within: SpoolLimits(maximumCount: 2))
            while try await storage.summary().total.count > 2 { try await Task.sleep(for: .milliseconds(2)) }
            worker.keep(within: SpoolLimits(maximumAge: .seconds(60)))
            while try await storage.summary().total.count > 0 { try await Task.sleep(for: .milliseconds(2)) }
        }
    }

    private static func run(_ worker: LogWorker, _ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await worker.run { _, _ in } }
            try await body()
            worker.finish()
            try await group.waitForAll()
        }
    }
}
