import Testing
import TrackingCore

@testable import TrackingRecorder

/// The conditions under which a recorder clears abandoned messages.
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

    /// Establishes the member connection, and answers its subscriptions.
    private mutating func goOnline(_ connection: Int, refusal: TrackingError? = nil) {
        self.connect(connection)
        let housekeeping = self.grantLiveness()
        self.voice(.subscribed(housekeeping, refusals: [nil, nil, nil, refusal]))
    }

    private var livenessTokens: [TransportToken] = []

    /// Establishes the member connection without answering its subscriptions.
    private mutating func connect(_ connection: Int) {
        self.livenessTokens = Self.subscriptions(
            self.voice(.connected(connection: connection, sessionPresent: false)))
    }

    /// The broker grants the subscriptions of the connection.
    ///
    /// - Returns: The token of the subscription that follows: that of the housekeeper.
    @discardableResult
    private mutating func grantLiveness() -> TransportToken {
        let tokens = self.livenessTokens
        var actions: [RecorderStateMachine.Action] = []
        for token in tokens { actions += self.voice(.subscribed(token, refusals: [nil])) }
        return Self.subscriptions(actions).first ?? 0
    }

    private static func subscriptions(_ actions: [RecorderStateMachine.Action]) -> [TransportToken] {
        Self.commands(actions).compactMap { if case .subscribe(_, let token) = $0 { token } else { nil } }
    }

    private static func commands(_ actions: [RecorderStateMachine.Action]) -> [TransportCommand] {
        actions.flatMap { action -> [TransportCommand] in
            if case .voice(let commands) = action { commands } else { [] }
        }
    }

    private mutating func receive(_ topic: String, _ payload: String) {
        let message = IncomingMessage(topic: topic, payload: Array(payload.utf8)[...], isRetained: true)
        self.voice(.received(message))
    }

    /// The tokens of the publishes of the last call of ``cleared(within:)``.
    private var clearing: [TransportToken] = []

    /// Advances the clock by `time`, and returns the cleared topics.
    private mutating func cleared(within time: Duration) -> [String] {
        self.clearing = []
        let end = self.now.advanced(by: time)
        var topics: [String] = []
        while let next = self.machine.nextDeadline, next <= end {
            self.now = max(self.now, next)
            for case .voice(let commands) in self.machine.happened(.timer, at: self.moment) {
                for case .publish(let message, let token) in commands where message.payload.isEmpty {
                    topics.append(message.topic)
                    self.clearing.append(token)
                }
            }
        }
        self.now = end
        return topics
    }

    private mutating func leaveBehind() {
        self.receive(
            "tracking/_clients/desk", #"{"status":"online","session":"s","connection":0,"lease":90}"#)
        self.receive(
            "tracking/van/subscriber/desk", #"{"type":"SUBSCRIBER","session":"s","connection":0,"lease":90,"since":1}"#)
    }

    @Test mutating func abandonedMessagesAreClearedByATimer() {
        self.goOnline(0)
        self.leaveBehind()
        #expect(self.cleared(within: Self.hour * 24 * 7) == [])
        #expect(self.cleared(within: Self.hour * 2) == ["tracking/van/subscriber/desk", "tracking/_clients/desk"])
    }

    /// A refused clear is reported as refused, not as cleared.
    @Test mutating func acknowledgedClearsAreCounted() {
        self.goOnline(0)
        self.leaveBehind()
        _ = self.cleared(within: Self.hour * 24 * 7 + Self.hour * 2)
        let tokens = self.clearing
        #expect(tokens.count == 2)
        #expect(self.voice(.published(tokens[0], refusal: nil)) == [])
        let refusal = TrackingError(.notAuthorized, "no")
        let reported = self.voice(.published(tokens[1], refusal: refusal))
        #expect(reported == [.deliver(.cleared(1)), .deliver(.clearingRefused(refusal))])
    }

    /// Nothing is cleared before the recorder has announced itself, so it has no deadline until then.
    @Test mutating func aDueCheckWaitsForTheAnnouncement() throws {
        self.goOnline(0)
        self.leaveBehind()
        _ = self.cleared(within: Self.hour * 24 * 7)
        self.connect(1)
        self.now = self.now.advanced(by: Self.hour * 2)
        _ = self.machine.happened(.timer, at: self.moment)
        #expect(self.machine.nextDeadline == nil)
        self.grantLiveness()
        #expect(try #require(self.machine.nextDeadline) <= self.now)
        #expect(self.cleared(within: .zero) == ["tracking/van/subscriber/desk", "tracking/_clients/desk"])
    }

    /// A member may be alive if the broker refuses the subscription to its liveness.
    @Test mutating func nothingIsClearedWithoutASubscriptionToLiveness() {
        self.goOnline(0)
        self.leaveBehind()
        self.voice(.disconnected(Disconnection(reason: nil, retry: .seconds(1), lasted: nil)))
        self.goOnline(1, refusal: TrackingError(.notAuthorized, "no"))
        #expect(self.cleared(within: Self.hour * 24 * 30) == [])
    }
}
