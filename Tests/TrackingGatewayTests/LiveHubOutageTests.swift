import Testing
import TrackingCore
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
