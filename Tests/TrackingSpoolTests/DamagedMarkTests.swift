import Foundation
import GRDB
import Testing
import TrackingCore

@testable import TrackingSpool

@Suite struct DamagedMarkTests {
    /// A record whose mark is damaged is new once, and known again from then on.
    @Test func aRecordWhoseMarkIsDamagedIsNewOnce() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "log").path()
            let van = try TrackableID("van")
            let log = SQLiteSpool(path: path)
            _ = try await log.open(now: start)
            try await log.append(try marked(1...2), state: [:], now: start)
            try await log.close()
            let file = try DatabaseQueue(path: path)
            try await file.write { try $0.execute(sql: "UPDATE mark SET checksum = checksum + 1 WHERE place = 1") }
            try file.close()
            _ = try await log.open(now: start)
            let one = try stream("one")
            #expect(try await log.known([try mark(1), try mark(2)], of: van).values.map(\.seq) == [2])
            var again = try entries(3...3)[0]
            again.mark = try mark(1)
            try await log.append([again], state: [:], now: start)
            #expect(try await log.known([try mark(1)], of: van) == [try mark(1): RecordName(stream: one, seq: 3)])
            try await log.close()
        }
    }
}
