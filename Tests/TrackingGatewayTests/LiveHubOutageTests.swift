import Testing
import TrackingCore
import TrackingStore
import TrackingSubscriber

@testable import TrackingGateway

/// What a live stream is told of what the gateway did not hear, or heard late.
@Suite struct LiveHubOutageTests {
    private let van: TrackableID
    private var state = LiveHubState(epoch: 7)
    private let all = LiveSelection(.everything, reads: .all)

    init() throws { self.van = try TrackableID("van") }

    private mutating func tell(_ event: SubscriberEvent, at time: Double = 1000) throws -> LiveUpdate {
        let update = self.state.happened(event, at: UnixTime(time))
        return try #require(update)
    }

    private func id(_ number: UInt64) -> LiveEventID { LiveEventID(epoch: 7, number: number, time: UnixTime(1000)) }

    /// What happened while the gateway was away it does not know, nor what was erased and published again: the history does.
    @Test mutating func afterAnOutageStreamsResumeFromTheHistory() throws {
        _ = self.state.happened(.connection(nil), at: UnixTime(999))
        _ = try self.tell(try Told.location(self.van, 1))
        #expect(self.state.opening(self.all, after: self.id(1)).summary == "resumed: ")
        let lost = Disconnection(reason: nil, retry: .seconds(1), lasted: .zero)
        _ = self.state.happened(.connection(lost), at: UnixTime(1000))
        _ = self.state.happened(.connection(nil), at: UnixTime(1000))
        _ = try self.tell(try Told.location(self.van, 9))
        #expect(self.state.opening(self.all, after: self.id(0)).summary == "gap since 1000.0: van position 2")
        #expect(self.state.opening(self.all, after: self.id(1)).summary == "resumed: van position 2")
    }

    /// Its reader shows where it was before; what is known now would not tell that this is to be forgotten.
    @Test mutating func whoMissedMoreThanIsKeptIsToldWhatWasClearedMeanwhile() throws {
        self.state = LiveHubState(epoch: 7, count: 2)
        _ = try self.tell(try Told.location(self.van, 1))
        _ = try self.tell(.locationCleared(self.van))
        for seq in 2...5 { _ = try self.tell(try Told.location(self.van, UInt64(seq))) }
        let opening = self.state.opening(self.all, after: self.id(1))
        #expect(opening.summary == "gap since 1000.0: van position 2, van position 6")
        guard case .gap(_, _, let cleared, _) = opening else { return }
        #expect(cleared.map(\.text) == ["event: position\ndata: {\"trackable\":\"van\"}\n\n"])
        let later = self.state.opening(self.all, after: self.id(2))
        #expect(later.summary == "gap since 1000.0: van position 6")
        let other = LiveSelection(.everything, reads: .only([try TrackableID("bike")]))
        #expect(self.state.opening(other, after: self.id(1)).summary == "gap since 1000.0: ")
    }

    /// While the gateway had no connection it was erased, and came again: who looks all the time shows where it was before.
    @Test func whoLooksIsToldWhatWasErasedDuringAnOutage() async throws {
        let stage = try await RecordedGateway(["van": 10])
        let (events, heard) = AsyncStream.makeStream(of: SubscriberEvent.self)
        let hub = LiveHub(events: events, history: stage.history) { _, _ in }
        let stream = try #require(hub.open(self.all, for: Caller(name: "desk", reads: .all), after: nil) {})
        func moved(_ seq: UInt64) -> SubscriberEvent {
            let update = LocationUpdate(location: RecordedGateway.point(seq))
            return .location(self.van, ReceivedUpdate(update: update, skipped: [], isLate: false, isRetained: true))
        }
        let kept = KeptHistory(stage.history)
        let before = [self.van: RecordedGateway.point(10).time]
        async let running: Void = hub.run()
        heard.yield(.connection(nil))
        heard.yield(moved(10))
        heard.yield(.connection(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero)))
        #expect(await kept.erased(of: before) == [])
        let erasing = RecordedGateway.start.advanced(by: .seconds(50))
        _ = try await stage.history.erase(self.van, before: nil, now: erasing)
        try await stage.store(60...61, of: "van")
        #expect(await kept.erased(of: before) == [self.van])
        #expect(await kept.erased(of: [self.van: RecordedGateway.point(60).time]) == [])
        for event in [.connection(nil), moved(60), .positionsKept([self.van])] { heard.yield(event) }
        var told: [UInt64?] = []
        reading: while told.count < 4 {
            switch await stream.next() {
            case .updates(let updates): told += updates.map { $0.location?.seq }
            case .heartbeat: continue
            case .ended: break reading
            }
        }
        #expect(told == [10, 60, nil, 60])
        heard.finish()
        await running
    }

    @Test mutating func whatChangedOverAnOutageIsAskedOnce() throws {
        let lost = SubscriberEvent.connection(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero))
        let bike = try TrackableID("bike")
        for event in [.connection(nil), try Told.location(self.van, 1), try Told.location(bike, 1), lost] {
            _ = self.state.happened(event, at: UnixTime(1000))
        }
        for event in [.connection(nil), try Told.location(self.van, 9), lost, .connection(nil)] {
            _ = self.state.happened(event, at: UnixTime(1000))
        }
        #expect(self.state.takeMoved() == [self.van: UnixTime(1)])
        #expect(self.state.takeMoved() == [:])
        let told = self.state.beginAnew(self.van, at: UnixTime(1001))
        #expect(told.map(\.summary) == ["van position 4", "van position 5"] && told[0].isCleared)
        #expect(told[1].text.hasPrefix("id: \(told[1].id)\nevent: position\n") && told[1].payload.count > 100)
        #expect(self.state.known(self.van)?.position?.seq == 9)
        #expect(self.state.opening(self.all, after: told[1].id).summary == "resumed: ")
    }

    @Test mutating func anEventOfLongAgoIsLate() throws {
        let event = try Told.event(self.van, 1)
        #expect(try self.tell(event, at: 5 + 120).text.contains("late") == false)
        #expect(try self.tell(event, at: 5 + 121).text.contains(#""trackable":"van","late":true,"#))
    }

    /// By a clock that was set back meanwhile it is not known what was missed.
    @Test(arguments: [(1000.0, false), (1060, false), (1061, true)])
    func aGapThatBeginsLaterThanNowBeginsAnew(since: Double, isAnew: Bool) throws {
        let stream = LiveStream(
            id: try #require(LiveStreamID("one")), caller: Caller(name: "test", reads: .all), selection: self.all,
            opened: UnixTime(1000), opening: .gap(since: UnixTime(since), isAnew: false, [])
        ) {}
        #expect(stream.isAnew == isAnew && stream.isResumed != isAnew)
    }
}
