import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber

@testable import TrackingGateway

/// A live stream after an outage, when the gateway missed messages or received them late.
@Suite struct LiveHubOutageTests {
    private let van: TrackableID
    private var state = LiveHubState(epoch: 7)
    private let all = LiveSelection(.everything, reads: .all)

    init() throws { self.van = try TrackableID("van") }

    private mutating func apply(_ event: SubscriberEvent, at time: Double = 1000) throws -> LiveUpdate {
        let update = self.state.happened(event, at: UnixTime(time))
        return try #require(update)
    }

    private func id(_ number: UInt64) -> LiveEventID { LiveEventID(epoch: 7, number: number, time: UnixTime(1000)) }

    /// The gateway does not know the messages of an outage, nor whether a trackable was erased and published again. The
    /// history does.
    @Test mutating func afterAnOutageStreamsResumeFromTheHistory() throws {
        _ = self.state.happened(.connection(nil), at: UnixTime(999))
        _ = try self.apply(try Sample.location(self.van, 1))
        #expect(self.state.opening(self.all, after: self.id(1)).summary == "resumed: ")
        let lost = Disconnection(reason: nil, retry: .seconds(1), lasted: .zero)
        _ = self.state.happened(.connection(lost), at: UnixTime(1000))
        _ = self.state.happened(.connection(nil), at: UnixTime(1000))
        _ = try self.apply(try Sample.location(self.van, 9))
        #expect(self.state.opening(self.all, after: self.id(0)).summary == "gap since 1000.0: van position 2")
        #expect(self.state.opening(self.all, after: self.id(1)).summary == "resumed: van position 2")
    }

    /// The reader still shows an earlier position: the current state alone would not reveal that it was cleared.
    @Test mutating func aReaderThatMissedTooMuchGetsTheClearedPositions() throws {
        self.state = LiveHubState(epoch: 7, count: 2)
        _ = try self.apply(try Sample.location(self.van, 1))
        _ = try self.apply(.locationCleared(self.van))
        for seq in 2...5 { _ = try self.apply(try Sample.location(self.van, UInt64(seq))) }
        let opening = self.state.opening(self.all, after: self.id(1))
        #expect(opening.summary == "gap since 1000.0: van position 2, van position 6")
        guard case .gap(_, _, let cleared, _) = opening else { return }
        #expect(cleared.map(\.text) == ["event: position\ndata: {\"trackable\":\"van\"}\n\n"])
        let later = self.state.opening(self.all, after: self.id(2))
        #expect(later.summary == "gap since 1000.0: van position 6")
        let other = LiveSelection(.everything, reads: .only([try TrackableID("bike")]))
        #expect(self.state.opening(other, after: self.id(1)).summary == "gap since 1000.0: ")
    }

    /// The trackable is erased and published again while the gateway is disconnected. An open stream still shows the
    /// earlier position.
    @Test func anOpenStreamGetsThePositionsErasedDuringAnOutage() async throws {
        let stage = try await RecordedGateway(["van": 10])
        let (events, received) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let hub = LiveHub(events: events, history: stage.history) { _, _ in }
        let stream = try #require(hub.open(self.all, for: Caller(name: "desk", reads: .all), after: nil) {})
        func moved(_ seq: UInt64) -> SubscriberEvent {
            let update = LocationUpdate(location: RecordedGateway.point(seq))
            return .location(self.van, ReceivedUpdate(update: update, skipped: [], isLate: false, isRetained: true))
        }
        let kept = KeptHistory(stage.history)
        let before = [self.van: RecordedGateway.point(10).time]
        async let running: Void = hub.run()
        received.yield(.connection(nil))
        received.yield(moved(10))
        received.yield(.connection(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero)))
        #expect(await kept.erased(of: before) == [])
        let erasing = RecordedGateway.start.advanced(by: .seconds(50))
        _ = try await stage.history.erase(self.van, before: nil, now: erasing)
        try await stage.store(60...61, of: "van")
        #expect(await kept.erased(of: before) == [self.van])
        #expect(await kept.erased(of: [self.van: RecordedGateway.point(60).time]) == [])
        for event in [.connection(nil), moved(60), .positionsKept([self.van])] { received.yield(event) }
        var produced: [UInt64?] = []
        reading: while produced.count < 4 {
            switch await stream.next() {
            case .updates(let updates): produced += updates.map { $0.location?.seq }
            case .heartbeat, .cells: continue
            case .ended: break reading
            }
        }
        #expect(produced == [10, 60, nil, 60])
        received.finish()
        await running
    }

    @Test mutating func movedTrackablesOfAnOutageAreTakenOnce() throws {
        let lost = SubscriberEvent.connection(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero))
        let bike = try TrackableID("bike")
        for event in [.connection(nil), try Sample.location(self.van, 1), try Sample.location(bike, 1), lost] {
            _ = self.state.happened(event, at: UnixTime(1000))
        }
        for event in [.connection(nil), try Sample.location(self.van, 9), lost, .connection(nil)] {
            _ = self.state.happened(event, at: UnixTime(1000))
        }
        #expect(self.state.takeMoved() == [self.van: UnixTime(1)])
        #expect(self.state.takeMoved() == [:])
        let produced = self.state.beginAnew(self.van, at: UnixTime(1001))
        #expect(produced.map(\.summary) == ["van position 4", "van position 5"] && produced[0].isCleared)
        #expect(
            produced[1].text.hasPrefix("id: \(produced[1].id)\nevent: position\n") && produced[1].payload.count > 100)
        #expect(self.state.known(self.van)?.position?.seq == 9)
        #expect(self.state.opening(self.all, after: produced[1].id).summary == "resumed: ")
    }

    @Test mutating func anEventOfLongAgoIsLate() throws {
        let event = try Sample.event(self.van, 1)
        #expect(try self.apply(event, at: 5 + 120).text.contains("late") == false)
        #expect(try self.apply(event, at: 5 + 121).text.contains(#""trackable":"van","late":true,"#))
    }

    /// With a clock that was set back during the outage, the missed span is unknown.
    @Test(arguments: [(1000.0, false), (1060, false), (1061, true)])
    func aGapThatBeginsLaterThanNowBeginsAnew(since: Double, isAnew: Bool) throws {
        let stream = LiveStream(
            id: try #require(LiveStreamID("one")), caller: Caller(name: "test", reads: .all), selection: self.all,
            opened: UnixTime(1000), opening: .gap(since: UnixTime(since), isAnew: false, [])
        ) {}
        #expect(stream.isAnew == isAnew && stream.isResumed != isAnew)
    }
}
