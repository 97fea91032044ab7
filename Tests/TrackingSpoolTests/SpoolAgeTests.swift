import Testing
import TrackingCore

@testable import TrackingSpool

/// More records with an unset clock than a trim drops at once.
@Suite struct SpoolAgeTests {
    /// Returns `count` records with an unset clock, followed by one with a time.
    private static func entries(undated count: UInt64, last: Double) throws -> [SpoolEntry] {
        try TrackingSpoolTests.entries(1...(count + 1), size: 8).map { entry in
            var entry = entry
            entry.record.time = entry.record.seq <= count ? UnixTime(1) : UnixTime(start.seconds + last)
            return entry
        }
    }

    @Test(arguments: SpoolSubject.allCases) func undatedRecordsGoWithAnExpiredOne(_ subject: SpoolSubject) async throws
    {
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

    @Test(arguments: SpoolSubject.allCases) func undatedRecordsAloneRemain(_ subject: SpoolSubject) async throws {
        try await subject.run { log in
            _ = try await log.storage.open(now: start)
            try await log.storage.append(try Self.entries(undated: 10_000, last: 86_400))
            let parts = try await log.storage.trim(to: SpoolLimits(maximumAge: .seconds(60)), now: start)
            #expect(parts.isEmpty)
        }
    }
}
