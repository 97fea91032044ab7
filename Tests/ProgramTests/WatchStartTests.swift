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
        let before =
            self.unknown(self.van) + [.connection(nil), try self.location(self.van), self.there(self.van, .absent)]
        #expect(self.happen(before, to: &start).isEmpty)
        #expect(self.happen([self.there(self.van, .present)], to: &start).isEmpty)
        #expect(
            self.happen([.state(self.van, .online, nil)], to: &start) == [
                .connection(nil), try self.location(self.van), self.there(self.van, .present),
                .state(self.van, .online, nil),
            ])
        // From now on, nothing is held.
        let lost: [SubscriberEvent] = [.state(self.van, .offline, nil), self.there(self.van, .absent)]
        #expect(self.happen(lost, to: &start) == lost)
        #expect(start.deadline == nil && start.timerFired(now: self.later(9_000)).isEmpty)
    }

    @Test func whatIsReallyOfflineIsShownAfterASecond() throws {
        var start = WatchStart(named: [self.van, self.bus])
        #expect(self.happen(self.unknown(self.van) + self.unknown(self.bus), to: &start).isEmpty)
        #expect(start.deadline == self.later(1_000))
        #expect(start.happened(.connection(nil), now: self.later(400)).isEmpty)
        let arrived = [self.there(self.bus, .present), SubscriberEvent.state(self.bus, .online, nil)]
        #expect(arrived.flatMap { start.happened($0, now: self.later(450)) }.isEmpty)
        #expect(start.happened(self.there(self.van, .absent), now: self.later(460)).isEmpty)
        #expect(start.timerFired(now: self.later(1_000)).isEmpty, "the connection began the second again")
        #expect(
            start.timerFired(now: self.later(1_400)) == [
                .state(self.van, .offline, nil), .connection(nil),
            ] + arrived + [self.there(self.van, .absent)])
    }

    @Test func aBrokerThatIsAwayIsReportedAtOnce() throws {
        var start = WatchStart(named: [self.van])
        let lost = Disconnection(reason: TrackingError(.connectionLost, "no"), retry: .seconds(1), lasted: nil)
        let events = self.unknown(self.van) + [.connection(lost)]
        #expect(self.happen(events, to: &start) == events)
    }

    @Test func nothingIsLostOrReordered() throws {
        var start = WatchStart(named: [])
        let ids = try (0..<WatchStart.maximumHeld / 3).map { try TrackableID("t-\($0)") }
        let events = try ids.flatMap { [self.there($0, .absent), .state($0, .offline, nil), try self.location($0)] }
        #expect(self.happen(events, to: &start).isEmpty)
        #expect(start.release() == events)
        var full = WatchStart(named: [])
        let more = events + [.connection(nil), self.there(self.van, .present)]
        #expect(self.happen(more, to: &full) == more)
    }

    @Test func recordedPositionsAreNotHeld() throws {
        var start = WatchStart(named: [self.van])
        #expect(self.happen([try self.location(self.van)], to: &start) == [try self.location(self.van)])
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
