import Testing
import TrackingCore

@testable import TrackingRules

/// The limits of the webhook messages that wait in memory.
@Suite struct PendingMessagesTests {
    private func draft(bytes: Int) throws -> Outbox.Draft {
        Outbox.Draft(
            trackable: try TrackableID("van"), kind: .event, time: UnixTime(1_700_000_000),
            payload: String(repeating: "a", count: bytes), record: nil)
    }

    /// A page of the history has at most 500 messages of 128 KiB each. It is read only if it fits.
    @Test func aPageOfLargeMessagesStaysWithinTheLimitOfBytes() throws {
        var pending = PendingMessages()
        #expect(pending.wantsPage && pending.hasRoomForPage)
        let rest = PendingMessages.maximumBytes - PendingMessages.pageBytes
        pending.append(try self.draft(bytes: rest))
        #expect(pending.wantsPage)
        pending.append(try self.draft(bytes: 1))
        #expect(!pending.wantsPage && !pending.hasRoomForPage)
        _ = pending.takeAll()
        #expect(pending.wantsPage)
    }

    @Test func aPageIsReadWhileFewMessagesWait() throws {
        var pending = PendingMessages()
        for _ in 0..<PendingMessages.sufficientCount { pending.append(try self.draft(bytes: 1)) }
        // A page that was requested before is still accepted.
        #expect(!pending.wantsPage && pending.hasRoomForPage)
    }

    /// Messages that were received meanwhile left no room for the page.
    @Test func aDiscardedPageIsRequestedAgain() throws {
        let moment = Moment(now: MonotonicTime(.seconds(10)), wall: UnixTime(1_700_000_000))
        var catchUp = CatchUp(
            since: UnixTime(1_699_999_000), watermarks: RecordWatermarks([:]), tripWatermarks: TripWatermarks([:]))
        catchUp.connected(at: moment)
        var later = moment
        later.now = moment.now.advanced(by: .seconds(5))
        let request = catchUp.nextRead(clearings: 0, at: later)
        let first = try #require(request)
        let none = catchUp.nextRead(clearings: 0, at: later)
        #expect(none == nil)
        let page = HistoryPage.trackables([])
        let isValid = catchUp.didRead(page, for: first, kinds: [.event], clearings: 0, hasRoom: false, at: later)
        #expect(!isValid)
        let repeated = catchUp.nextRead(clearings: 0, at: later)
        let second = try #require(repeated)
        #expect(second.query == first.query && second.number > first.number)
        let isRead = catchUp.didRead(page, for: second, kinds: [.event], clearings: 0, hasRoom: true, at: later)
        #expect(isRead)
    }
}
