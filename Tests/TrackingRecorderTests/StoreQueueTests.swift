import Testing
import TrackingCore

@testable import TrackingRecorder

/// The received messages that are not durable yet, and the acknowledgements that follow.
@Suite struct StoreQueueTests {
    private var queue: StoreQueue
    private var now = MonotonicTime(.zero)

    init() throws {
        let session = try #require(SessionID("s"))
        var configuration = RecorderConfiguration(client: try ClientID("r1"), session: session)
        configuration.window = 2
        self.queue = StoreQueue(configuration: configuration)
    }

    private mutating func add(_ count: Int) {
        for _ in 0..<count {
            self.queue.add(
                IncomingMessage(topic: "tracking/van/event", payload: [], isRetained: false),
                receivedAt: UnixTime(1_000), now: self.now)
        }
    }

    private mutating func next(isDue: Bool = false) -> Int {
        self.queue.next(through: 1, connection: 0, isDue: isDue, now: self.now).count
    }

    @Test mutating func anEmptyQueueStoresNothing() {
        #expect(self.queue.isEmpty && self.queue.nextDeadline == nil && self.queue.since == nil)
        #expect(self.next(isDue: true) == 0)
        #expect(self.queue.timerFired(now: self.now) == [])
        guard case .none = self.queue.stored([:], now: self.now) else {
            Issue.record("no batch was given to the store")
            return
        }
        #expect(self.queue.failed(TrackingError(.storeFailed, "no room"), now: self.now) == [])
    }

    @Test mutating func itIsFullOnlyWhileTheStoreWorks() {
        self.add(2)
        #expect(!self.queue.isFull)
        #expect(self.next() == 1)
        self.add(2)
        #expect(self.queue.isFull && self.queue.messages == 4)
        #expect(self.next(isDue: true) == 0, "the store works on one page")
    }

    @Test mutating func theOutageLastsFromTheFirstAttempt() {
        self.add(2)
        #expect(self.next() == 1)
        self.now = self.now.advanced(by: .seconds(1))
        let failed = self.queue.failed(TrackingError(.storeFailed, "no room"), now: self.now)
        #expect(failed.count == 1 && !self.queue.isBusy)
        guard let deadline = self.queue.nextDeadline else {
            Issue.record("the batch is stored again")
            return
        }
        #expect(self.queue.timerFired(now: deadline).count == 1)
        #expect(self.queue.isBusy)
        guard case .page(let page, let outage) = self.queue.stored([:], now: deadline) else {
            Issue.record("the page is stored")
            return
        }
        #expect(page.messages == 2 && outage == MonotonicTime(.zero).duration(to: deadline))
        #expect(self.queue.isEmpty)
    }

    @Test mutating func discardedMessagesAreNotStored() {
        self.add(3)
        #expect(self.next() == 1)
        self.add(1)
        self.queue.discardAll()
        #expect(self.queue.isEmpty && self.queue.messages == 0)
        #expect(self.next(isDue: true) == 0)
    }
}
