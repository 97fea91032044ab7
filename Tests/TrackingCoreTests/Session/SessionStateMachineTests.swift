import Testing

@testable import TrackingCore

/// What a client program says of itself on each connection. Every state is reached by events.
@Suite struct SessionStateMachineTests {
    private let mine = SessionID("mine")!  // not empty
    private let other = SessionID("other")!  // not empty
    private let third = SessionID("third")!  // not empty

    private func machine() throws -> SessionStateMachine {
        SessionStateMachine(client: try ClientID("c1"), session: self.mine, lease: .seconds(90))
    }

    /// A machine whose first connection was announced at second 0.
    private func announced() throws -> SessionStateMachine {
        var machine = try self.machine()
        machine.connected(connection: 0)
        #expect(machine.settled(now: .seconds(0)) == true)
        return machine
    }

    private func online(_ session: SessionID, _ connection: Int = 0) -> Liveness {
        Liveness(status: .online(lease: .seconds(90)), session: session, connection: connection)
    }

    @Test func itSaysNothingBeforeItsOwnTopicWasRead() throws {
        var machine = try self.machine()
        #expect(machine.phase == .offline)
        machine.connected(connection: 0)
        #expect(machine.phase == .reading(standing: nil))
        #expect(!machine.isAnnounced)
        #expect(machine.nextDeadline == nil)
        #expect(machine.settled(now: .seconds(1)) == true)
        #expect(machine.isAnnounced)
        #expect(machine.birth == Liveness(status: .online(lease: .seconds(90)), session: self.mine, connection: 0))
    }

    @Test func aHeartbeatIsDueEveryHalfLease() throws {
        var machine = try self.announced()
        #expect(machine.nextDeadline == .seconds(45))
        #expect(machine.timerFired(now: .seconds(44.9)) == false)
        #expect(machine.timerFired(now: .seconds(45)) == true)
        #expect(machine.nextDeadline == .seconds(90))
        #expect(machine.timerFired(now: .seconds(45)) == false)
    }

    @Test func noHeartbeatWithoutAConnection() throws {
        var machine = try self.announced()
        machine.disconnected()
        #expect(machine.nextDeadline == nil)
        #expect(machine.timerFired(now: .seconds(1_000)) == false)
        #expect(machine.settled(now: .seconds(1_000)) == false)
    }

    @Test func theBirthNamesTheConnection() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1)
        #expect(!machine.isAnnounced)
        #expect(machine.settled(now: .seconds(100)) == true)
        #expect(machine.birth.connection == 1)
        #expect(machine.nextDeadline == .seconds(145))
    }

    @Test func theOwnLivenessMustComeBackOnThisConnection() throws {
        var machine = try self.announced()
        #expect(!machine.isLivenessConfirmed)
        #expect(machine.heardOwn(self.online(self.mine, 0)) == false)
        #expect(machine.isLivenessConfirmed)
        machine.disconnected()
        #expect(!machine.isLivenessConfirmed)
        machine.connected(connection: 1)
        #expect(machine.settled(now: .seconds(1)) == true)
        #expect(machine.heardOwn(self.online(self.mine, 0)) == false)
        #expect(!machine.isLivenessConfirmed)
        #expect(machine.heardOwn(self.online(self.mine, 1)) == false)
        #expect(machine.isLivenessConfirmed)
    }

    @Test func anOfflineOfItsOwnSessionIsAnsweredAtOnce() throws {
        var machine = try self.announced()
        #expect(machine.heardOwn(SessionStateMachine.goodbye(session: self.mine, connection: 0)) == true)
    }

    @Test func whateverSaysOfflineInItsPlaceIsAnsweredAtOnce() throws {
        var machine = try self.announced()
        #expect(machine.heardOwn(SessionStateMachine.goodbye(session: self.other, connection: 0)) == true)
        #expect(machine.heardOwn(nil) == true)
        // Another program's life is not: the broker itself decides which of the two stays.
        #expect(machine.heardOwn(self.online(self.other)) == false)
    }

    @Test func aKeptGoodbyeOfSomebodyElseStoodThereBefore() throws {
        var machine = try self.announced()
        let goodbye = SessionStateMachine.goodbye(session: self.other, connection: 0)
        #expect(machine.heardOwn(goodbye, isRetained: true) == false)
    }

    @Test func twoProgramsUnderOneIdDoNotAnswerEachOtherForEver() throws {
        var machine = try self.announced()
        let goodbye = SessionStateMachine.goodbye(session: self.other, connection: 0)
        let answers = (0..<100).count { _ in machine.heardOwn(goodbye) }
        #expect(answers == SessionStateMachine.answersPerHeartbeat)
        // The heartbeat repairs it, and is followed by as many answers.
        #expect(machine.timerFired(now: .seconds(45)) == true)
        #expect(machine.heardOwn(goodbye) == true)
    }

    @Test func anOfflineIsNotAnsweredBeforeTheBirth() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1)
        #expect(machine.heardOwn(SessionStateMachine.goodbye(session: self.mine, connection: 0)) == false)
        #expect(machine.settled(now: .seconds(1)) == true)
    }

    @Test func whoStandsThereAtTheFirstConnectionIsNoted() throws {
        var machine = try self.machine()
        machine.connected(connection: 0)
        #expect(machine.heardOwn(self.online(self.other)) == false)
        #expect(machine.phase == .reading(standing: self.other))
        #expect(machine.settled(now: .seconds(0)) == true)
        machine.disconnected()
        machine.connected(connection: 1)
        #expect(machine.heardOwn(self.online(self.other)) == false)
        #expect(machine.settled(now: .seconds(1)) == true)
    }

    @Test func anotherSessionAtALaterConnectionTookTheIdOver() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1)
        #expect(machine.heardOwn(self.online(self.other)) == false)
        #expect(machine.settled(now: .seconds(1)) == false)
        #expect(machine.phase == .takenOver(by: self.other))
        // Final: no further connection, word or deadline changes it.
        machine.disconnected()
        machine.connected(connection: 2)
        #expect(machine.phase == .takenOver(by: self.other))
        #expect(machine.settled(now: .seconds(2)) == false)
        #expect(machine.timerFired(now: .seconds(100)) == false)
        #expect(machine.nextDeadline == nil)
    }

    @Test func onlyTheNotedSessionIsNoTakeOver() throws {
        var machine = try self.machine()
        machine.connected(connection: 0)
        _ = machine.heardOwn(self.online(self.other))
        #expect(machine.settled(now: .seconds(0)) == true)
        machine.disconnected()
        machine.connected(connection: 1)
        _ = machine.heardOwn(self.online(self.third))
        #expect(machine.settled(now: .seconds(1)) == false)
        #expect(machine.phase == .takenOver(by: self.third))
    }

    @Test func theOwnWillThatStandsThereIsNoTakeOver() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1)
        _ = machine.heardOwn(SessionStateMachine.goodbye(session: self.mine, connection: 0))
        #expect(machine.settled(now: .seconds(1)) == true)
    }

    @Test func aFirstConnectionThatBrokeBeforeItWasReadIsStillTheFirst() throws {
        var machine = try self.machine()
        machine.connected(connection: 0)
        machine.disconnected()
        machine.connected(connection: 1)
        _ = machine.heardOwn(self.online(self.other))
        #expect(machine.settled(now: .seconds(1)) == true)
        #expect(machine.isAnnounced)
    }

    @Test func theLastWordOfATopicIsWhatStands() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1)
        _ = machine.heardOwn(self.online(self.other))
        _ = machine.heardOwn(nil)
        #expect(machine.settled(now: .seconds(1)) == true)
    }

    @Test func theWillIsTheGoodbyeOfItsConnectionOnTheOwnTopic() throws {
        struct Sample: MemberConfiguration {
            let client: ClientID
            let session: SessionID
            let topicRoot: TopicRoot
        }
        let sample = Sample(client: try ClientID("c1"), session: self.mine, topicRoot: try TopicRoot("acme/eu"))
        let will = sample.will(connection: 3)
        #expect(will.topic == "acme/eu/_clients/c1")
        #expect(will.isRetained)
        let goodbye = try MessageCodec.decodeLiveness(will.payload[...])
        #expect(goodbye == Liveness(status: .offline, session: self.mine, connection: 3))
    }
}
