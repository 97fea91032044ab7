import Testing
import TrackingCore

@testable import TrackingPublisher

/// Tests for the time that records wait for a log that cannot be opened.
@Suite struct LogOutageTests {
    private static let begin = ContinuousClock.now
    private static let full = TrackingError(.spoolFailed, "the disk is full")

    private static func after(_ seconds: Int) -> ContinuousClock.Instant { self.begin.advanced(by: .seconds(seconds)) }

    private static func entries(_ count: Int, size: Int) throws -> [SpoolEntry] {
        let (van, stream) = (try TrackableID("van"), try #require(StreamID("one")))
        return (1...count).map { seq in
            let payload = [UInt8](repeating: 0, count: size)
            let record = SpoolRecord(seq: UInt64(seq), time: UnixTime(1), kind: .point, payload: payload)
            return SpoolEntry(record, of: van, in: stream)
        }
    }

    @Test func itIsTriedOnceAPause() throws {
        var outage = LogOutage()
        let tries = [0, 9, 10, 19, 20].filter { outage.mayTry(now: Self.after($0)) }
        #expect(tries == [0, 10, 20], "at once, and then")
        let last = outage.mayTry(isLast: true, now: Self.after(21))
        #expect(last)
    }

    @Test func theSameReasonIsReportedOnce() {
        var outage = LogOutage()
        let gone = TrackingError(.spoolFailed, "it is gone")
        let reported = [Self.full, Self.full, gone].map { outage.failed($0, now: Self.after(0)) }
        #expect(reported == [true, false, true])
        outage.opened()
        #expect(!outage.isClosed && outage.error == nil)
        let again = outage.failed(gone, now: Self.after(30))
        #expect(again)
    }

    @Test func recordsWaitForAMinute() throws {
        var outage = LogOutage()
        let entries = try Self.entries(5, size: 100)
        _ = outage.failed(Self.full, now: Self.after(0))
        #expect(outage.patience(with: entries, now: Self.after(10)) == 5)
        _ = outage.failed(Self.full, now: Self.after(50))
        #expect(outage.patience(with: entries, now: Self.after(60)) == 0, "since it was closed, not since the last try")
    }

    @Test func noMoreWaitThanFitIntoMemory() throws {
        var outage = LogOutage()
        _ = outage.failed(Self.full, now: Self.after(0))
        let count = outage.patience(with: try Self.entries(20, size: 1 << 20), now: Self.after(1))
        #expect(count == 15, "the first")
    }
}
