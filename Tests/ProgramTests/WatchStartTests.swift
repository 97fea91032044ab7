import Testing
import TrackingCore
import TrackingRuntime
import TrackingSubscriber

@testable import godwit

/// The first events of `godwit watch`, which are held until the retained messages have arrived.
@Suite struct WatchStartTests {
    private let begin = MonotonicTime(.zero)
    private let van = TrackableID(literal: "van-7")
    private let bus = TrackableID(literal: "bus")

    private func later(_ milliseconds: Int) -> MonotonicTime { self.begin.advanced(by: .milliseconds(milliseconds)) }

    private func there(_ id: TrackableID, _ status: PublisherPresence.Status) -> SubscriberEvent {
        .presence(id, PublisherPresence(status: status, lastSeen: nil))
    }

    private func location(_ id: TrackableID) throws -> SubscriberEvent {
        let point = Location(coordinate: try #require(Coordinate(latitude: 52, longitude: -8)), time: UnixTime(1))
        return .location(
            id,
            ReceivedUpdate(update: LocationUpdate(location: point), skipped: [], isLate: false, isRetained: true))
    }

    /// The events of a watched trackable before the broker has sent anything.
    private func unknown(_ id: TrackableID) -> [SubscriberEvent] {
        [self.there(id, .unknown), .state(id, .offline, nil)]
    }

    /// Lets all events happen at the beginning, and returns the shown ones.
    private func happen(_ events: [SubscriberEvent], to start: inout WatchStart) -> [SubscriberEvent] {
        events.flatMap { start.happened($0, now: self.begin) }
    }

    @Test func theFirstLineIsTheRetainedPosition() throws {
        var start = WatchStart(named: [self.van])
        let place = try self.location(self.van)
        let before: [SubscriberEvent] =
            self.unknown(self.van) + [.connection(nil), place, self.there(self.van, .absent)]
        #expect(self.happen(before, to: &start).isEmpty)
        #expect(self.happen([self.there(self.van, .present)], to: &start).isEmpty)
        let shown = self.happen([.state(self.van, .online, nil)], to: &start)
        #expect(
            shown == [.connection(nil), place, self.there(self.van, .present), .state(self.van, .online, nil)])
        // From now on, nothing is held.
        let lost: [SubscriberEvent] = [.state(self.van, .offline, nil), self.there(self.van, .absent)]
        #expect(self.happen(lost, to: &start) == lost)
        #expect(start.deadline == nil)
        let later = start.timerFired(now: self.later(9_000))
        #expect(later.isEmpty)
    }

    @Test func whatIsReallyOfflineIsShownAfterASecond() throws {
        var start = WatchStart(named: [self.van, self.bus])
        #expect(self.happen(self.unknown(self.van) + self.unknown(self.bus), to: &start).isEmpty)
        #expect(start.deadline == self.later(1_000))
        var early = start.happened(.connection(nil), now: self.later(400))
        let arrived = [self.there(self.bus, .present), SubscriberEvent.state(self.bus, .online, nil)]
        for event in arrived { early += start.happened(event, now: self.later(450)) }
        early += start.happened(self.there(self.van, .absent), now: self.later(460))
        early += start.timerFired(now: self.later(1_000))
        #expect(early.isEmpty, "the connection began the second again")
        let shown = start.timerFired(now: self.later(1_400))
        let first: [SubscriberEvent] = [.state(self.van, .offline, nil), .connection(nil)]
        #expect(shown == first + arrived + [self.there(self.van, .absent)])
    }

    @Test func aBrokerThatIsAwayIsReportedAtOnce() throws {
        var start = WatchStart(named: [self.van])
        let lost = Disconnection(reason: TrackingError(.connectionLost, "no"), retry: .seconds(1), lasted: nil)
        let events: [SubscriberEvent] = self.unknown(self.van) + [.connection(lost)]
        #expect(self.happen(events, to: &start) == events)
    }

    @Test func nothingIsLostOrReordered() throws {
        var start = WatchStart(named: [])
        let ids = try (0..<WatchStart.maximumHeld / 3).map { try TrackableID("t-\($0)") }
        let events = try ids.flatMap { id -> [SubscriberEvent] in
            [self.there(id, .absent), .state(id, .offline, nil), try self.location(id)]
        }
        #expect(self.happen(events, to: &start).isEmpty)
        let released = start.release()
        #expect(released == events)
        var full = WatchStart(named: [])
        let more: [SubscriberEvent] = events + [.connection(nil), self.there(self.van, .present)]
        #expect(self.happen(more, to: &full) == more)
    }

    @Test func recordedPositionsAreNotHeld() throws {
        var start = WatchStart(named: [self.van])
        let place = try self.location(self.van)
        #expect(self.happen([place], to: &start) == [place])
        #expect(self.happen(self.unknown(self.van), to: &start).isEmpty)
    }

    /// The driver shows the held events in time although no further event arrives, and all of them at the end.
    @Test(.timeLimit(.minutes(1))) func theTimeAndTheEndReleaseTheEvents() async throws {
        let (events, feed) = AsyncStream.makeStream(of: SubscriberEvent.self)
        for event in self.unknown(self.van) { feed.yield(event) }
        var shown: [SubscriberEvent] = []
        try await WatchStart(named: [self.van]).show(events) { event in
            shown.append(event)
            return shown.count < 2
        }
        #expect(shown == self.unknown(self.van))
        let (others, ended) = AsyncStream.makeStream(of: SubscriberEvent.self)
        for event in self.unknown(self.bus) { ended.yield(event) }
        ended.finish()
        var last: [SubscriberEvent] = []
        try await WatchStart(named: [self.bus]).show(others) { event in
            last.append(event)
            return true
        }
        #expect(last == self.unknown(self.bus))
    }
}
