import Testing
import TrackingCore

@testable import TrackingRecorder

/// When a recorder clears what members left behind, and when not.
@Suite struct HousekeepingTests {
    private static let hour = Duration.seconds(3600)
    private var machine: RecorderStateMachine
    private var now = MonotonicTime(.zero)

    init() throws {
        var configuration = RecorderConfiguration(
            client: try ClientID("keeper"), session: try #require(SessionID("mine")))
        configuration.clearsAfter = RecorderConfiguration.housekeeping
        configuration.isFirstRun = true
        self.machine = RecorderStateMachine(configuration: configuration)
    }

    @discardableResult
    private mutating func voice(_ events: TransportEvent...) -> [RecorderStateMachine.Action] {
        self.machine.happened(.voice(events), at: self.moment)
    }

    private var moment: Moment { Moment(now: self.now, wall: UnixTime(1_700_000_000 + self.now.sinceOrigin.inSeconds)) }

    /// The connection that acknowledges stands, and what is to be heard on it was answered.
    private mutating func goOnline(_ connection: Int, refusal: TrackingError? = nil) {
        self.voice(.connected(connection: connection, sessionPresent: false))
        self.voice(.subscribed(1, refusals: [nil]), .subscribed(2, refusals: [nil]))
        self.voice(.subscribed(4, refusals: [nil, nil, nil, refusal]))
    }

    private mutating func hear(_ topic: String, _ payload: String) {
        let message = IncomingMessage(topic: topic, payload: Array(payload.utf8)[...], isRetained: true)
        self.voice(.received(message))
    }

    /// The topics that are cleared while so much time passes.
    private mutating func cleared(within time: Duration) -> [String] {
        let end = self.now.advanced(by: time)
        var topics: [String] = []
        while let next = self.machine.nextDeadline, next <= end {
            self.now = max(self.now, next)
            for case .voice(let commands) in self.machine.happened(.timer, at: self.moment) {
                for case .publish(let message, _) in commands where message.payload.isEmpty {
                    topics.append(message.topic)
                }
            }
        }
        self.now = end
        return topics
    }

    private mutating func leaveBehind() {
        self.hear(
            "tracking/_clients/desk", #"{"status":"online","session":"s","connection":0,"lease":90}"#)
        self.hear(
            "tracking/van/subscriber/desk", #"{"type":"SUBSCRIBER","session":"s","connection":0,"lease":90,"since":1}"#)
    }

    @Test mutating func whatTheGoneLeftBehindIsClearedByATimer() {
        self.goOnline(0)
        self.leaveBehind()
        #expect(self.cleared(within: Self.hour * 24 * 7) == [])
        #expect(self.cleared(within: Self.hour * 2) == ["tracking/van/subscriber/desk", "tracking/_clients/desk"])
    }

    /// What the broker refuses is not told as cleared.
    @Test mutating func whatTheBrokerTookIsCounted() {
        self.goOnline(0)
        self.leaveBehind()
        _ = self.cleared(within: Self.hour * 24 * 7 + Self.hour * 2)
        let tokens = self.machine.clearing.sorted()
        #expect(tokens.count == 2)
        #expect(self.voice(.published(tokens[0], refusal: nil)) == [])
        let refusal = TrackingError(.notAuthorized, "no")
        let told = self.voice(.published(tokens[1], refusal: refusal))
        #expect(told == [.tell(.cleared(1)), .tell(.clearingRefused(refusal))])
    }

    /// Nothing can be cleared before this recorder has announced itself: until then there is nothing to wake up for.
    @Test mutating func aCheckThatIsDueWaitsForTheAnnouncement() throws {
        self.goOnline(0)
        self.leaveBehind()
        _ = self.cleared(within: Self.hour * 24 * 7)
        self.voice(.connected(connection: 1, sessionPresent: false))
        self.now = self.now.advanced(by: Self.hour * 2)
        _ = self.machine.happened(.timer, at: self.moment)
        #expect(self.machine.nextDeadline == nil)
        self.voice(.subscribed(1, refusals: [nil]), .subscribed(2, refusals: [nil]))
        #expect(try #require(self.machine.nextDeadline) <= self.now)
        #expect(self.cleared(within: .zero) == ["tracking/van/subscriber/desk", "tracking/_clients/desk"])
    }

    /// Who is not heard because the broker refuses to tell may live.
    @Test mutating func nothingIsClearedWhereTheBrokerRefusesToTell() {
        self.goOnline(0)
        self.leaveBehind()
        self.voice(.disconnected(Disconnection(reason: nil, retry: .seconds(1), lasted: nil)))
        self.goOnline(1, refusal: TrackingError(.notAuthorized, "no"))
        #expect(self.cleared(within: Self.hour * 24 * 30) == [])
    }
}
