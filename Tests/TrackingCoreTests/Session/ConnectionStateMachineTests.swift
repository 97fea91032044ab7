import Testing

@testable import TrackingCore

/// The transitions of a connection: connect, wait, fall back, give up, close.
@Suite struct ConnectionStateMachineTests {
    private typealias Machine = ConnectionStateMachine

    private let lost = TrackingError(.connectionLost, "lost")
    private let unreachable = TrackingError(.brokerUnreachable, "nobody there")

    /// A machine and a clock that only `wait` advances.
    private struct Talk {
        var machine: ConnectionStateMachine
        var now = MonotonicTime(.seconds(1_000))

        init(endpoints: Int = 1, pinned: Machine.Version? = nil, seed: UInt64 = 1) {
            self.machine = Machine(configuration: .init(endpoints: endpoints, pinnedVersion: pinned), seed: seed)
        }

        mutating func started() -> [Machine.Action] { self.machine.started(now: self.now) }
        mutating func accepted() -> [Machine.Action] { self.machine.accepted(sessionPresent: false, now: self.now) }
        mutating func failed(_ failure: Machine.Failure) -> [Machine.Action] {
            self.machine.attemptFailed(failure, now: self.now)
        }
        mutating func lost(_ error: TrackingError) -> [Machine.Action] {
            self.machine.connectionLost(error, now: self.now)
        }
        mutating func wait(_ duration: Duration) { self.now = self.now.advanced(by: duration) }

        /// Advances the clock to the next deadline.
        mutating func timer() throws -> [Machine.Action] {
            self.now = max(self.now, try #require(self.machine.nextDeadline))
            return self.machine.timerFired(now: self.now)
        }
    }

    private func attempt(
        _ endpoint: Int = 0, _ version: Machine.Version = .v5, connection: Int = 0
    ) -> Machine.Action {
        .connect(Machine.Attempt(endpoint: endpoint, version: version, connection: connection))
    }

    private func disconnection(_ actions: [Machine.Action]) throws -> Disconnection {
        try #require(
            actions.lazy.compactMap { action -> Disconnection? in
                if case .deliver(.disconnected(let disconnection)) = action { disconnection } else { nil }
            }.first)
    }

    // MARK: - Connecting

    @Test func aRequestedAttemptEndsTheWait() throws {
        var talk = Talk()
        _ = talk.started()
        #expect(talk.machine.tryRequested(now: talk.now) == [])
        _ = talk.failed(.unreachable(self.unreachable))
        #expect(talk.machine.tryRequested(now: talk.now) == [self.attempt()])
        #expect(talk.machine.tryRequested(now: talk.now) == [])
        _ = talk.accepted()
        #expect(talk.machine.tryRequested(now: talk.now) == [])
    }

    @Test func aLostConnectionIsMadeAgainUnderTheNextNumber() throws {
        var talk = Talk()
        #expect(talk.started() == [self.attempt()])
        #expect(talk.accepted() == [.deliver(.connected(connection: 0, sessionPresent: false))])
        #expect(talk.machine.nextDeadline == nil)
        talk.wait(.seconds(20))
        let end = try self.disconnection(talk.lost(self.lost))
        #expect(end.reason == self.lost)
        #expect(end.lasted == .seconds(20))
        #expect(end.retry.map { (.milliseconds(250) ... .milliseconds(500)).contains($0) } == true)
        #expect(try talk.timer() == [self.attempt(connection: 1)])
        #expect(talk.accepted() == [.deliver(.connected(connection: 1, sessionPresent: false))])
    }

    @Test func anUnansweredAttemptTimesOut() throws {
        var talk = Talk()
        _ = talk.started()
        talk.wait(.seconds(3.9))
        #expect(talk.machine.timerFired(now: talk.now) == [])
        let actions = try talk.timer()
        #expect(actions.first == .abandon)
        #expect(try self.disconnection(actions).reason?.code == .brokerUnreachable)
        #expect(talk.accepted() == [], "an answer to an attempt that was given up")
    }

    /// Each wait is between half of a limit and the limit, which doubles up to a minute.
    @Test(arguments: [1 as UInt64, 2, 3, 4]) func waitsGrowAndAreJittered(seed: UInt64) throws {
        var talk = Talk(seed: seed)
        _ = talk.started()
        for ceiling in [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60] {
            let wait = try #require(try self.disconnection(talk.failed(.unreachable(self.unreachable))).retry)
            #expect((.seconds(ceiling / 2) ... .seconds(ceiling)).contains(wait), "\(wait) of \(ceiling) s")
            #expect(try talk.timer() == [self.attempt()])
        }
    }

    @Test(arguments: [TrackingError.Code.badCredentials, .notAuthorized])
    func aRejectedClientWaitsUpToAQuarterOfAnHour(code: TrackingError.Code) throws {
        var talk = Talk()
        _ = talk.started()
        var longest = Duration.zero
        for _ in 0..<14 {
            let end = try self.disconnection(talk.failed(.refused(TrackingError(code, "no"))))
            longest = try #require(end.retry)
            _ = try talk.timer()
        }
        #expect((.seconds(450) ... .seconds(900)).contains(longest))
    }

    @Test func aLongConnectionResetsTheBackoff() throws {
        var talk = Talk()
        _ = talk.started()
        for _ in 0..<6 {
            _ = talk.failed(.unreachable(self.unreachable))
            _ = try talk.timer()
        }
        _ = talk.accepted()
        talk.wait(.seconds(10))
        let wait = try #require(try self.disconnection(talk.lost(self.lost)).retry)
        #expect(wait <= .milliseconds(500))
    }

    // MARK: - Endpoints

    @Test func everyEndpointIsTriedBeforeThereIsAWait() throws {
        var talk = Talk(endpoints: 3)
        #expect(talk.started() == [self.attempt(0)])
        for next in 1...2 {
            let actions = talk.failed(.unreachable(self.unreachable))
            #expect(try self.disconnection(actions).retry == .zero)
            #expect(actions.last == self.attempt(next))
        }
        let wait = try #require(try self.disconnection(talk.failed(.unreachable(self.unreachable))).retry)
        #expect(wait > .zero)
        #expect(try talk.timer() == [self.attempt(0)])
    }

    /// A connection that lasted for 10 s is tried again at the same endpoint, a shorter one at the next endpoint.
    @Test(arguments: [(9.9, 1), (10, 0)]) func aLongConnectionKeepsItsEndpoint(seconds: Double, endpoint: Int) throws {
        var talk = Talk(endpoints: 2)
        _ = talk.started()
        _ = talk.accepted()
        talk.wait(.seconds(seconds))
        _ = talk.lost(self.lost)
        #expect(try talk.timer() == [self.attempt(endpoint, connection: 1)])
    }

    // MARK: - Versions

    private static let fallbacks: [(reason: UInt8?, fallsBack: Bool)] = [
        (0x84, true), (0x01, true), (nil, true), (0x86, false), (0x87, false), (0x85, false), (0x88, false),
    ]

    @Test(arguments: fallbacks) func theReasonCodeDecidesTheFallback(reason: UInt8?, fallsBack: Bool) throws {
        var talk = Talk()
        _ = talk.started()
        let failure: Machine.Failure =
            if let reason { .refused(TrackingError(.refused, "no", reasonCode: reason)) } else {
                .closedUnanswered(self.unreachable)
            }
        let actions = talk.failed(failure)
        #expect(actions.contains(self.attempt(0, .v311)) == fallsBack)
        #expect(actions.contains { if case .deliver = $0 { true } else { false } } != fallsBack)
    }

    @Test func aVersionIsRememberedOnceItIsAccepted() throws {
        var talk = Talk()
        _ = talk.started()
        _ = talk.failed(.closedUnanswered(self.unreachable))
        _ = talk.failed(.closedUnanswered(self.unreachable))
        #expect(try talk.timer() == [self.attempt(0, .v5)], "3.1.1 fared no better")
        _ = talk.failed(.closedUnanswered(self.unreachable))
        _ = talk.accepted()
        _ = talk.lost(self.lost)
        #expect(try talk.timer() == [self.attempt(0, .v311, connection: 1)])
    }

    @Test func aBrokerThatGoesDownDoesNotCostMQTT5() throws {
        var talk = Talk()
        _ = talk.started()
        _ = talk.accepted()
        _ = talk.lost(self.lost)
        _ = try talk.timer()
        #expect(!talk.failed(.closedUnanswered(self.unreachable)).contains(self.attempt(0, .v311, connection: 1)))
    }

    @Test func aPinnedVersionIsKept() throws {
        var talk = Talk(pinned: .v5)
        _ = talk.started()
        _ = talk.failed(.closedUnanswered(self.unreachable))
        #expect(try talk.timer() == [self.attempt()])
    }

    @Test func aRejectedRetainedWillIsSentWithoutTheRetainFlag() throws {
        var talk = Talk()
        _ = talk.started()
        let failure = Machine.Failure.refused(TrackingError(.refused, "retain not supported", reasonCode: 0x9A))
        var plain = Machine.Attempt(endpoint: 0, version: .v5, connection: 0, retainsWill: false)
        #expect(talk.failed(failure) == [.connect(plain)], "at once, and told to nobody")
        #expect(try self.disconnection(talk.failed(failure)).reason?.reasonCode == 0x9A)
        #expect(try talk.timer() == [.connect(plain)])
        _ = talk.accepted()
        _ = talk.lost(self.lost)
        plain.connection = 1
        #expect(try talk.timer() == [.connect(plain)])
    }

    // MARK: - Double ids

    /// Four connections in a row that the broker closes within 10 s indicate a duplicate client id. The wait grows to
    /// a minute.
    @Test func fourShortConnectionsInARowAreSuspicious() throws {
        var talk = Talk()
        _ = talk.started()
        var codes: [TrackingError.Code?] = []
        var last = Duration.zero
        for _ in 0..<9 {
            _ = talk.accepted()
            talk.wait(.seconds(1))
            let end = try self.disconnection(talk.lost(self.lost))
            codes.append(end.reason?.code)
            last = try #require(end.retry, "it is never given up")
            _ = try talk.timer()
        }
        #expect(codes == Array(repeating: .connectionLost, count: 3) + Array(repeating: .takenOver, count: 6))
        #expect((.seconds(30) ... .seconds(60)).contains(last))
    }

    /// A program that may have caused a duplicate id adds its remedy to this reason only.
    @Test func theRemedyIsAddedToASuspectedDoubleId() throws {
        var configuration = Machine.Configuration(endpoints: 1)
        configuration.takeoverRemedy = "Give --intake-user."
        var talk = Talk()
        talk.machine = Machine(configuration: configuration, seed: 1)
        _ = talk.started()
        var messages: [String] = []
        for _ in 0..<4 {
            _ = talk.accepted()
            talk.wait(.seconds(1))
            messages.append(try self.disconnection(talk.lost(self.lost)).reason?.message ?? "")
            _ = try talk.timer()
        }
        #expect(messages.map { $0.hasSuffix(". Give --intake-user.") } == [false, false, false, true])
        _ = talk.accepted()
        let taken = try self.disconnection(talk.lost(TrackingError(.takenOver, "taken")))
        #expect(taken.reason?.message == "taken. Give --intake-user.")
    }

    @Test func aLongConnectionEndsTheSuspicion() throws {
        var talk = Talk()
        _ = talk.started()
        for seconds in [1.0, 1, 1, 10, 1, 1, 1] {
            _ = talk.accepted()
            talk.wait(.seconds(seconds))
            #expect(try self.disconnection(talk.lost(self.lost)).reason?.code == .connectionLost)
            _ = try talk.timer()
        }
    }

    // MARK: - The watchdog

    @Test func anUnansweredMessageEndsTheConnection() throws {
        var talk = Talk()
        _ = talk.started()
        _ = talk.accepted()
        talk.machine.answersAwaited(since: talk.now)
        talk.wait(.seconds(5))
        talk.machine.answersAwaited(since: talk.now)
        talk.wait(.seconds(9.9))
        #expect(talk.machine.timerFired(now: talk.now) == [], "the older one was answered")
        let actions = try talk.timer()
        #expect(actions.first == .abandon)
        #expect(try self.disconnection(actions).reason?.code == .connectionLost)
    }

    @Test func aBrokerThatDoesNotAnswerIsNotTriedNext() throws {
        var talk = Talk(endpoints: 2)
        _ = talk.started()
        _ = talk.accepted()
        talk.wait(.seconds(60))
        talk.machine.answersAwaited(since: talk.now)
        #expect(try talk.timer().first == .abandon)
        #expect(try talk.timer() == [self.attempt(1, connection: 1)])
        _ = talk.accepted()
        talk.wait(.seconds(60))
        _ = talk.machine.connectionLost(self.lost, isSilent: true, now: talk.now)
        #expect(try talk.timer() == [self.attempt(connection: 2)])
        _ = talk.accepted()
        talk.wait(.seconds(60))
        _ = talk.lost(self.lost)
        #expect(try talk.timer() == [self.attempt(connection: 3)], "a broker that closes a connection may restart")
    }

    @Test func withoutUnansweredMessagesNothingIsAwaited() {
        var talk = Talk()
        _ = talk.started()
        _ = talk.accepted()
        talk.machine.answersAwaited(since: talk.now)
        talk.machine.answersAwaited(since: nil)
        #expect(talk.machine.nextDeadline == nil)
    }

    // MARK: - Leaving

    @Test func aCloseWaitsForAnswersAndDisconnects() {
        var talk = Talk()
        _ = talk.started()
        _ = talk.accepted()
        talk.wait(.seconds(3))
        #expect(talk.machine.closeRequested(within: .seconds(5), now: talk.now) == [])
        #expect(talk.machine.drained(now: talk.now) == [.sendGoodbye])
        let end = Disconnection(reason: nil, retry: nil, lasted: .seconds(3))
        #expect(talk.machine.goodbyeSent(now: talk.now) == [.deliver(.disconnected(end)), .finish])
    }

    @Test func aCloseIsBounded() throws {
        var talk = Talk()
        _ = talk.started()
        _ = talk.accepted()
        _ = talk.machine.closeRequested(within: .seconds(5), now: talk.now)
        #expect(talk.machine.nextDeadline == talk.now.advanced(by: .seconds(5)))
        #expect(try talk.timer() == [.sendGoodbye])
        #expect(talk.machine.nextDeadline == talk.now.advanced(by: .seconds(1)))
        let actions = try talk.timer()
        #expect(actions.first == .abandon)
        #expect(actions.last == .finish)
    }

    @Test func aCloseWithoutAConnectionIsTheEnd() throws {
        var waiting = Talk()
        _ = waiting.started()
        _ = waiting.failed(.unreachable(self.unreachable))
        #expect(waiting.machine.closeRequested(within: .seconds(5), now: waiting.now).last == .finish)
        var connecting = Talk()
        _ = connecting.started()
        let actions = connecting.machine.closeRequested(within: .seconds(5), now: connecting.now)
        #expect(actions.first == .abandon)
        #expect(try self.disconnection(actions) == Disconnection(reason: nil, retry: nil, lasted: nil))
        #expect(connecting.machine.nextDeadline == nil)
    }
}
