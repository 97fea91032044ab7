import Synchronization
import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber

@testable import TrackingGateway
@testable import TrackingRules

@Suite struct RulesServiceTests {
    private let folder = TemporaryFolder()
    private let van: TrackableID
    private let depot: Coordinate

    init() throws {
        self.van = try TrackableID("van-7")
        self.depot = try #require(Coordinate(latitude: 52.66, longitude: -8.63))
    }

    /// The events that a service published on topics, and the number of publishes that will be rejected.
    private final class Topics: Sendable {
        let published = Mutex<[TrackingEvent]>([])
        let refusals: Mutex<Int>
        let news: AsyncStream<TrackingEvent>
        private let continuation: AsyncStream<TrackingEvent>.Continuation

        init(refusals: Int = 0) {
            self.refusals = Mutex(refusals)
            (self.news, self.continuation) = AsyncStream.makeStream()
        }

        func publish(_ event: TrackingEvent, _ id: TrackableID) async throws(TrackingError) {
            let isRefused = self.refusals.withLock { count in
                guard count > 0 else { return false }
                count -= 1
                return true
            }
            if isRefused { throw TrackingError(.connectionLost, "away") }
            self.published.withLock { $0.append(event) }
            self.continuation.yield(event)
        }
    }

    private func update(_ distance: Double, _ time: Double, isRetained: Bool = false) -> SubscriberEvent {
        let fix = Location(
            coordinate: self.depot.destination(bearing: 0, distance: Meters(distance)), time: UnixTime(time))
        return .location(
            self.van,
            ReceivedUpdate(update: LocationUpdate(location: fix), skipped: [], isLate: false, isRetained: isRetained))
    }

    private func keeper(
        _ events: AsyncStream<SubscriberEvent>, _ topics: Topics, kinds: Set<Outbox.Kind> = [],
        readers: [String] = [], at time: Double = 1_700_000_000
    ) throws -> RulesService {
        RulesService(
            configuration: RulesService.Configuration(kinds: kinds, readers: readers, seed: UInt64(time)) {
                UnixTime(time)
            },
            database: try self.folder.database(), events: events,
            effects: RulesService.Effects { (event, id) throws(TrackingError) in try await topics.publish(event, id) })
    }

    private func prepare() async throws {
        let store = RuleStore(try self.folder.database())
        try await store.add(try Fence(name: "depot", shape: .circle(center: self.depot, radius: 100)))
        try await store.add(RuleDefinition(name: "in", .enter(fence: "depot")))
        try await store.add(RuleDefinition(name: "out", .leave(fence: "depot")))
    }

    @Test func aCrossingIsPublishedOnceAlsoOverRestarts() async throws {
        try await self.prepare()
        let topics = Topics(refusals: 2)
        var news = topics.news.makeAsyncIterator()
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let keeper = try self.keeper(events, topics)
        let running = Task { try await keeper.run() }
        received.yield(self.update(500, 1_700_000_000))
        received.yield(self.update(0, 1_700_000_001))
        let entered = try #require(await news.next())
        #expect(entered.kind == .fenceEntered && entered.seq == 1 && entered.detail["rule"] == .text("in"))
        running.cancel()
        _ = try? await running.value

        let (more, heardMore) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let next = try self.keeper(more, topics, at: 1_700_000_010)
        let runningNext = Task { try await next.run() }
        heardMore.yield(self.update(0, 1_700_000_008))
        heardMore.yield(self.update(500, 1_700_000_009))
        // The pending events of an earlier run are published after the retained messages were received.
        heardMore.yield(.positionsKept([self.van]))
        // An event that was published during the end of the first run may be published again, unchanged and with the
        // same name.
        var left = try #require(await news.next())
        if left == entered { left = try #require(await news.next()) }
        // No crossing is found twice, and no name is used twice, even after a restored file: each run has its own
        // streams.
        #expect(left.kind == .fenceLeft && left.stream != entered.stream && left.seq == 1)
        runningNext.cancel()
        _ = try? await runningNext.value
        #expect(Set(topics.published.withLock { $0 }) == [entered, left])
    }

    @Test func webhooksFindWhatTheyWantInOrder() async throws {
        try await self.prepare()
        let outbox = Outbox(try self.folder.database())
        try await outbox.begin("hook")
        let topics = Topics()
        var news = topics.news.makeAsyncIterator()
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let keeper = try self.keeper(events, topics, kinds: [.position, .event], readers: ["hook"])
        let running = Task { try await keeper.run() }
        received.yield(self.update(700, 1_699_999_999, isRetained: true))
        received.yield(self.update(500, 1_700_000_000))
        received.yield(self.update(0, 1_700_000_001))
        let entered = try #require(await news.next())
        // The broker delivers the service's own event back to it.
        received.yield(.event(self.van, entered))
        let device = TrackingEvent(
            id: "e", stream: try #require(StreamID("abcdefgh")), seq: 1, time: UnixTime(1_700_000_002), kind: .clockJump
        )
        received.yield(.event(self.van, device))
        received.finish()
        running.cancel()
        _ = try? await running.value
        let (entries, through) = try await outbox.next("hook", kinds: [.position, .event], ownAlone: false, limit: 100)
        #expect(entries.map(\.kind).filter { $0 == .position }.count == 2)
        #expect(entries.filter(\.isOwn).count == 1)
        #expect(entries.map(\.place) == entries.map(\.place).sorted())
        try await outbox.advance("hook", to: through)
        #expect(try await outbox.next("hook", kinds: [.position, .event], ownAlone: false, limit: 100).entries == [])
        #expect(try await outbox.trim(now: UnixTime(1_700_000_003)) == 0)
    }
}
