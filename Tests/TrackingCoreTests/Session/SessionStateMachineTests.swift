import Testing

@testable import TrackingCore

/// The liveness of a client on each connection. Every state is reached by events.
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
        machine.connected(connection: 0, broker: 0)
        #expect(machine.settled(now: .seconds(0)) == true)
        return machine
    }

    private func online(_ session: SessionID, _ connection: Int = 0) -> Liveness {
        Liveness(status: .online(lease: .seconds(90)), session: session, connection: connection)
    }

    @Test func nothingIsPublishedBeforeTheOwnTopicWasRead() throws {
        var machine = try self.machine()
        #expect(machine.phase == .offline)
        machine.connected(connection: 0, broker: 0)
        #expect(machine.phase == .reading(broker: 0, standing: nil))
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
        machine.connected(connection: 1, broker: 0)
        #expect(!machine.isAnnounced)
        #expect(machine.settled(now: .seconds(100)) == true)
        #expect(machine.birth.connection == 1)
        #expect(machine.nextDeadline == .seconds(145))
    }

    @Test func theOwnLivenessMustComeBackOnThisConnection() throws {
        var machine = try self.announced()
        #expect(!machine.isLivenessConfirmed)
        #expect(machine.receivedOwn(self.online(self.mine, 0)) == false)
        #expect(machine.isLivenessConfirmed)
        machine.disconnected()
        #expect(!machine.isLivenessConfirmed)
        machine.connected(connection: 1, broker: 0)
        #expect(machine.settled(now: .seconds(1)) == true)
        #expect(machine.receivedOwn(self.online(self.mine, 0)) == false)
        #expect(!machine.isLivenessConfirmed)
        #expect(machine.receivedOwn(self.online(self.mine, 1)) == false)
        #expect(machine.isLivenessConfirmed)
    }

    @Test func anOfflineOfItsOwnSessionIsAnsweredAtOnce() throws {
        var machine = try self.announced()
        #expect(machine.receivedOwn(SessionStateMachine.goodbye(session: self.mine, connection: 0)) == true)
    }

    @Test func anyOfflineOnTheOwnTopicIsAnsweredAtOnce() throws {
        var machine = try self.announced()
        #expect(machine.receivedOwn(SessionStateMachine.goodbye(session: self.other, connection: 0)) == true)
        #expect(machine.receivedOwn(nil) == true)
        // Another program's life is not: the broker itself decides which of the two stays.
        #expect(machine.receivedOwn(self.online(self.other)) == false)
    }

    @Test func aRetainedGoodbyeOfAnotherSessionIsNotAnswered() throws {
        var machine = try self.announced()
        let goodbye = SessionStateMachine.goodbye(session: self.other, connection: 0)
        #expect(machine.receivedOwn(goodbye, isRetained: true) == false)
    }

    @Test func twoProgramsUnderOneIdDoNotAnswerEachOtherForEver() throws {
        var machine = try self.announced()
        let goodbye = SessionStateMachine.goodbye(session: self.other, connection: 0)
        let answers = (0..<100).count { _ in machine.receivedOwn(goodbye) }
        #expect(answers == SessionStateMachine.answersPerHeartbeat)
        // The heartbeat restores the liveness, and allows as many answers again.
        #expect(machine.timerFired(now: .seconds(45)) == true)
        #expect(machine.receivedOwn(goodbye) == true)
    }

    @Test func anOfflineIsNotAnsweredBeforeTheBirth() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1, broker: 0)
        #expect(machine.receivedOwn(SessionStateMachine.goodbye(session: self.mine, connection: 0)) == false)
        #expect(machine.settled(now: .seconds(1)) == true)
    }

    @Test func aSessionOnTheOwnTopicAtTheFirstConnectionIsNoTakeOver() throws {
        var machine = try self.machine()
        machine.connected(connection: 0, broker: 0)
        #expect(machine.receivedOwn(self.online(self.other)) == false)
        #expect(machine.phase == .reading(broker: 0, standing: self.other))
        #expect(machine.settled(now: .seconds(0)) == true)
        machine.disconnected()
        machine.connected(connection: 1, broker: 0)
        #expect(machine.receivedOwn(self.online(self.other)) == false)
        #expect(machine.settled(now: .seconds(1)) == true)
    }

    @Test func anotherSessionAtALaterConnectionTookTheIdOver() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1, broker: 0)
        #expect(machine.receivedOwn(self.online(self.other)) == false)
        #expect(machine.settled(now: .seconds(1)) == false)
        #expect(machine.phase == .takenOver(by: self.other))
        // The takeover is final: no later connection, message or deadline changes it.
        machine.disconnected()
        machine.connected(connection: 2, broker: 0)
        #expect(machine.phase == .takenOver(by: self.other))
        #expect(machine.settled(now: .seconds(2)) == false)
        #expect(machine.timerFired(now: .seconds(100)) == false)
        #expect(machine.nextDeadline == nil)
    }

    @Test func anUnknownSessionIsATakeOver() throws {
        var machine = try self.machine()
        machine.connected(connection: 0, broker: 0)
        _ = machine.receivedOwn(self.online(self.other))
        #expect(machine.settled(now: .seconds(0)) == true)
        machine.disconnected()
        machine.connected(connection: 1, broker: 0)
        _ = machine.receivedOwn(self.online(self.third))
        #expect(machine.settled(now: .seconds(1)) == false)
        #expect(machine.phase == .takenOver(by: self.third))
    }

    @Test func theOwnRetainedWillIsNoTakeOver() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1, broker: 0)
        _ = machine.receivedOwn(SessionStateMachine.goodbye(session: self.mine, connection: 0))
        #expect(machine.settled(now: .seconds(1)) == true)
    }

    @Test func aFirstConnectionThatBrokeBeforeItWasReadIsStillTheFirst() throws {
        var machine = try self.machine()
        machine.connected(connection: 0, broker: 0)
        machine.disconnected()
        machine.connected(connection: 1, broker: 0)
        _ = machine.receivedOwn(self.online(self.other))
        #expect(machine.settled(now: .seconds(1)) == true)
        #expect(machine.isAnnounced)
    }

    @Test func theLastRetainedLivenessCounts() throws {
        var machine = try self.announced()
        machine.disconnected()
        machine.connected(connection: 1, broker: 0)
        _ = machine.receivedOwn(self.online(self.other))
        _ = machine.receivedOwn(nil)
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
