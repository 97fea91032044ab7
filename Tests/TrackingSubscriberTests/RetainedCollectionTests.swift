import Testing
import TrackingCore

@testable import TrackingSubscriber

/// The collection of retained messages after a new connection.
@Suite struct RetainedCollectionTests {
    private var collection: RetainedCollection
    private var assets: [TrackableID: WatchedAsset] = [:]
    private var now = MonotonicTime(.zero)
    private let van = TrackableID(literal: "van")
    private let bus = TrackableID(literal: "bus")

    init() throws {
        let session = try #require(SessionID("s"))
        var configuration = SubscriberConfiguration(client: try ClientID("w1"), session: session)
        configuration.watchesAll = true
        configuration.maximumTrackables = 2
        self.collection = RetainedCollection(configuration: configuration)
    }

    /// Makes a connection with two slices of subscriptions, up to the broker's answer to the last packet.
    private mutating func connect() {
        self.collection.connected([.everyLocation, .everyPublisher])
        #expect(
            self.collection.nextPackets(now: self.now) == [.init(filters: [.everyLocation], isLast: false)])
        self.collection.answered(now: self.now)
        self.now = self.now.advanced(by: .milliseconds(100))
        #expect(self.collection.duePackets(now: self.now) == [.init(filters: [.everyPublisher], isLast: true)])
        self.collection.answered(now: self.now)
        self.collection.settled(now: self.now)
    }

    private mutating func end(after wait: Duration, isRefused: Bool = false) -> Set<TrackableID>? {
        self.now = self.now.advanced(by: wait)
        #expect(self.collection.duePackets(now: self.now) == [], "every filter was sent")
        return self.collection.end(self.assets, isRefused: isRefused, now: self.now)
    }

    @Test mutating func aConfirmedLivenessEndsTheCollectionSooner() {
        self.connect()
        self.collection.positionArrived(self.van, isCleared: false, now: self.now)
        self.collection.positionArrived(self.bus, isCleared: false, now: self.now)
        self.collection.positionArrived(self.bus, isCleared: true, now: self.now)
        self.collection.confirmed(now: self.now)
        #expect(self.end(after: .milliseconds(1_999)) == nil)
        #expect(self.end(after: .milliseconds(1)) == [self.van])
        #expect(self.end(after: .seconds(100)) == nil, "it ends once")
    }

    @Test mutating func refusedSubscriptionsPostponeTheEnd() {
        self.connect()
        #expect(self.end(after: .seconds(30), isRefused: true) == nil)
        #expect(self.end(after: .seconds(29)) == nil)
        #expect(self.end(after: .seconds(1)) == [])
    }

    @Test mutating func anExpectedPositionIsAskedForBeforeTheEnd() {
        self.collection.expect([self.van], self.assets, now: self.now)
        self.connect()
        self.collection.confirmed(now: self.now)
        #expect(self.end(after: .seconds(2)) == nil)
        self.now = self.now.advanced(by: RetainedGaps.patience)
        let question = self.collection.askAgain(now: self.now)
        #expect(question?.asked.first == .topic(.location(self.van)) && question?.ended == [])
        self.collection.positionArrived(self.van, isCleared: true, now: self.now)
        #expect(self.end(after: RetainedGaps.roundTime) == [])
    }

    @Test mutating func aPositionExpectedAfterTheEndIsAskedFor() {
        self.connect()
        self.collection.confirmed(now: self.now)
        #expect(self.end(after: .seconds(2)) == [])
        self.collection.expect([self.van], self.assets, now: self.now)
        #expect(self.collection.nextDeadline == self.now.advanced(by: RetainedGaps.patience))
    }

    @Test mutating func expectedPositionsOutliveALostConnection() {
        self.collection.connected([.everyLocation])
        self.collection.expect([self.van], self.assets, now: self.now)
        self.collection.disconnected()
        #expect(self.collection.nextDeadline == nil)
        self.connect()
        #expect(self.end(after: .seconds(30)) == nil, "the position is asked for")
        #expect(self.collection.nextDeadline == self.now.advanced(by: RetainedGaps.patience))
    }

    @Test mutating func theNumberOfExpectedPositionsIsLimited() {
        let ids = ["a", "b", "c", "d", "e"].map { TrackableID(literal: $0) }
        self.collection.expect(Array(ids[..<3]), self.assets, now: self.now)
        self.collection.expect(Array(ids[3...]), self.assets, now: self.now)
        self.connect()
        #expect(self.end(after: .seconds(30)) == nil)
        self.now = self.now.advanced(by: RetainedGaps.patience)
        let asked = self.collection.askAgain(now: self.now)?.asked ?? []
        #expect(asked.filter { if case .topic(.location) = $0 { true } else { false } }.count == 4)
    }
}
