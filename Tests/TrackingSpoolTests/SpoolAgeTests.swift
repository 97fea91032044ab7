import Testing
import TrackingCore

@testable import TrackingSpool

/// Records whose own time says nothing of their age, more of them than go together.
@Suite struct SpoolAgeTests {
    /// So many without a time, and one behind them.
    private static func entries(undated count: UInt64, last: Double) throws -> [SpoolEntry] {
        try TrackingSpoolTests.entries(1...(count + 1), size: 8).map { entry in
            var entry = entry
            entry.record.time = entry.record.seq <= count ? UnixTime(1) : UnixTime(start.seconds + last)
            return entry
        }
    }

    @Test(arguments: SpoolSubject.allCases) func theyGoWithTheFirstThatIsTooOld(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try Self.entries(undated: 25_000, last: 0))
            try await log.storage.append(try TrackingSpoolTests.entries(30_000...30_001))
            let limits = SpoolLimits(maximumAge: .seconds(60))
            #expect(try await log.storage.trim(to: limits, now: start).isEmpty, "the first that is dated is young")
            let parts = try await log.storage.trim(to: limits, now: UnixTime(start.seconds + 61))
            #expect(parts.map(\.seqs) == [numbers(1...25_001)])
        }
    }

    @Test(arguments: SpoolSubject.allCases) func withNoneThatIsDatedTheyStay(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try Self.entries(undated: 10_000, last: 86_400))
            let parts = try await log.storage.trim(to: SpoolLimits(maximumAge: .seconds(60)), now: start)
            #expect(parts.isEmpty)
        }
    }
}
