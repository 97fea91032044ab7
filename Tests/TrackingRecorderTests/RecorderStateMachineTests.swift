import Testing
import TrackingCore

@testable import TrackingRecorder
@testable import TrackingStore

/// The times of storing and the publishes that follow. Every state is reached by events.
@Suite struct RecorderStateMachineTests {
    /// A recorder, and a clock that only the test advances.
    private struct Talk {
        var machine: RecorderStateMachine
        var now = MonotonicTime(.zero)
        /// The wall clock at the beginning.
        var wall = 1_700_000_000.0

        init(window: Int = 3, group: String? = nil, isFirstRun: Bool = true) throws {
            var configuration = RecorderConfiguration(
                client: try ClientID("keeper"), session: try #require(SessionID("mine")))
            configuration.window = window
            configuration.group = try group.map {
                try RecorderGroup(name: ClientID($0), secret: "0123456789abcdef")
            }
            configuration.isFirstRun = isFirstRun
            self.machine = RecorderStateMachine(configuration: configuration)
        }

        mutating func happened(_ event: RecorderStateMachine.Event) -> [RecorderStateMachine.Action] {
            self.machine.happened(
                event, at: Moment(now: self.now, wall: UnixTime(self.wall + self.now.sinceOrigin.inSeconds)))
        }

        mutating func wait(_ milliseconds: Int) -> [RecorderStateMachine.Action] {
            self.now = self.now.advanced(by: .milliseconds(milliseconds))
            return self.happened(.timer)
        }

        /// Establishes both connections and grants all subscriptions.
        mutating func goOnline() {
            _ = self.happened(.intake([.connected(connection: 0, sessionPresent: false)]))
            _ = self.connectMember(0)
        }

        /// Establishes the member connection and grants all its subscriptions.
        mutating func connectMember(_ connection: Int) -> [RecorderStateMachine.Action] {
            let actions = self.happened(.voice([.connected(connection: connection, sessionPresent: false)]))
            let grants = actions.flatMap { action -> [TransportEvent] in
                guard case .voice(let commands) = action else { return [] }
                return commands.compactMap { command in
                    guard case .subscribe(let filters, let token) = command else { return nil }
                    return .subscribed(token, refusals: filters.map { _ in nil })
                }
            }
            return self.happened(.voice(grants))
        }

        mutating func receive(_ topic: String, _ payload: String) -> [RecorderStateMachine.Action] {
            let message = IncomingMessage(topic: topic, payload: Array(payload.utf8)[...], isRetained: false)
            return self.happened(.intake([.received(message)]))
        }

        mutating func receivePoint(_ seq: Int) -> [RecorderStateMachine.Action] {
            self.receive("tracking/van", Self.point(seq))
        }

        static func point(_ seq: Int) -> String {
            """
            {"location":{"type":"Feature","geometry":{"type":"Point","coordinates":[-8.5,52.5]},"properties":\
            {"time":\(1_700_000_000 + seq),"seq":\(seq),"stream":"s1"}},"skippedLocations":[],"type":"ACTUAL"}
            """
        }

        /// The number of records in the first store action, or `nil`.
        static func stored(_ actions: [RecorderStateMachine.Action]) -> Int? {
            actions.lazy.compactMap { if case .store(let batch) = $0 { batch.count } else { nil } }.first
        }

        static func released(_ actions: [RecorderStateMachine.Action]) -> Int? {
            actions.lazy.compactMap { action -> Int? in
                guard case .intake(let commands) = action, case .acknowledge(let count, _)? = commands.first
                else { return nil }
                return count
            }.first
        }

        static func published(_ actions: [RecorderStateMachine.Action]) -> [String] {
            actions.flatMap { action -> [String] in
                guard case .voice(let commands) = action else { return [] }
                return commands.compactMap { command in
                    guard case .publish(let message, _) = command else { return nil }
                    return "\(message.topic) \(String(decoding: message.payload, as: UTF8.self))"
                }
            }
        }
    }

    private let van = TrackableID.known("van")

    private func ack(_ seq: UInt64) -> [TrackableID: Acknowledgement] {
        [self.van: Acknowledgement(streams: [StreamID("s1")!: seq])]
    }

    /// Both stores give up a lock before the recorder reports that they do not answer.
    @Test func aWaitForALockIsNotReportedAsAStoreWithoutAnswer() {
        #expect(RecorderConfiguration.longestCommit > PostgresConnection.lockTimeout)
        #expect(RecorderConfiguration.longestCommit > SQLiteHistoryStore.lockTimeout)
    }

    @Test func aPageIsStoredWhenItIsFullOrOldEnough() throws {
        var talk = try Talk()
        talk.goOnline()
        #expect(Talk.stored(talk.receivePoint(1)) == nil)
        #expect(Talk.stored(talk.wait(49)) == nil)
        #expect(Talk.stored(talk.receivePoint(2)) == nil)
        #expect(Talk.stored(talk.wait(1)) == 2)
        #expect(Talk.released(talk.happened(.stored(self.ack(2)))) == 2)
        #expect(Talk.stored(talk.receivePoint(3)) == nil)
        #expect(Talk.stored(talk.receivePoint(4)) == nil)
        #expect(Talk.stored(talk.receivePoint(5)) == 3)
    }

    @Test func nothingIsAcknowledgedBeforeItIsStored() throws {
        var talk = try Talk()
        talk.goOnline()
        for seq in 1...3 { #expect(Talk.released(talk.receivePoint(seq)) == nil) }
        #expect(!talk.machine.isFull)
        for seq in 4...6 { #expect(Talk.released(talk.receivePoint(seq)) == nil) }
        #expect(talk.machine.isFull)
        let actions = talk.happened(.stored(self.ack(3)))
        #expect(Talk.released(actions) == 3)
        #expect(Talk.stored(actions) == 3, "what came meanwhile is stored at once")
        #expect(Talk.released(talk.happened(.stored(self.ack(6)))) == 6)
    }

    /// Many records are stored before the page has all its messages: a page is limited in records and in bytes.
    @Test func theRecordsOfMessagesFillAPage() throws {
        let ranges = (0..<3334).map { "[\($0 * 2 + 1),\($0 * 2 + 1)]" }.joined(separator: ",")
        let declaration = #"{"batch":"b","stream":"s1","oldest":1,"gone":[\#(ranges)],"points":[],"remaining":0}"#
        let large = String(repeating: "x", count: 334_000)
        for (topic, payload) in [("tracking/van/history", declaration), ("tracking/van", large)] {
            var talk = try Talk(window: 500)
            talk.goOnline()
            func isStored(_ actions: [RecorderStateMachine.Action]) -> Bool {
                actions.contains { if case .store = $0 { true } else { false } }
            }
            for _ in 1...2 { #expect(!isStored(talk.receive(topic, payload))) }
            #expect(isStored(talk.receive(topic, payload)), "the third on \(topic)")
            for _ in 1...2 { _ = talk.receive(topic, payload) }
            var isFull = talk.machine.isFull
            #expect(!isFull)
            _ = talk.receive(topic, payload)
            isFull = talk.machine.isFull
            #expect(isFull)
            #expect(Talk.released(talk.happened(.stored([:]))) == 3)
            isFull = talk.machine.isFull
            #expect(!isFull)
        }
    }

    /// The messages of a backlog arrive at one moment. They have an order nevertheless, whatever the wall clock
    /// shows.
    @Test(arguments: [0, 1_700_000_000, 1e12, -5]) func messagesOfOneMomentHaveAnOrder(wall: Double) throws {
        var talk = try Talk(window: 12)
        talk.wall = wall
        talk.goOnline()
        var stored: RecordingBatch?
        for index in 0..<12 {
            // The wall clock is corrected a little in between.
            if index == 6 { talk.wall -= 0.1 }
            let presence = #"{"type":"SUBSCRIBER","session":"s\#(index)","connection":0,"lease":90,"since":5}"#
            for action in talk.receive("tracking/van/subscriber/desk", presence) {
                if case .store(let batch) = action { stored = batch }
            }
        }
        let times = try #require(stored).recordings.map(\.receivedAt)
        #expect(times.count == 12)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
        #expect(times.allSatisfy { abs($0.seconds - wall) < 0.2 })
    }

    @Test func aClockThatIsSetBackIsFollowed() throws {
        var talk = try Talk(window: 1)
        talk.goOnline()
        _ = talk.receivePoint(1)
        talk.wall -= 3600
        guard case .store(let batch)? = talk.receivePoint(2).first ?? talk.happened(.stored([:])).last else {
            Issue.record("nothing is stored")
            return
        }
        #expect(batch.recordings.first?.receivedAt == UnixTime(1_700_000_000 - 3600))
    }

    @Test func aStoreWithoutAnAnswerIsUnavailable() throws {
        var talk = try Talk(window: 1)
        talk.goOnline()
        #expect(Talk.stored(talk.receivePoint(1)) == 1)
        #expect(talk.wait(11_999) == [])
        guard case .deliver(.storeAway(let error, retry: nil))? = talk.wait(1).first else {
            Issue.record("it is not told")
            return
        }
        #expect(error.message.contains("has not answered"))
        #expect(talk.wait(60_000).allSatisfy { if case .deliver(.storeAway) = $0 { false } else { true } }, "once")
        #expect(talk.happened(.stored(self.ack(1))).contains(.deliver(.storeBack(after: .milliseconds(72_000)))))
    }

    @Test func anUnavailableStoreIsTriedAgainWithBackoff() throws {
        var talk = try Talk(window: 1)
        talk.goOnline()
        #expect(Talk.stored(talk.receivePoint(1)) == 1)
        let error = TrackingError(.storeFailed, "disk full")
        for wait in [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000] {
            let actions = talk.happened(.storeFailed(error))
            #expect(actions == [.deliver(.storeAway(error, retry: .milliseconds(wait)))])
            #expect(talk.wait(wait - 1).allSatisfy { Talk.stored([$0]) == nil })
            #expect(Talk.stored(talk.wait(1)) == 1, "the same again")
        }
        let actions = talk.happened(.stored(self.ack(1)))
        #expect(actions.contains { if case .deliver(.storeBack) = $0 { true } else { false } })
        #expect(Talk.released(actions) == 1)
    }

    /// Three attempts with the same batch, then halves: the refused point, the fourth of four, is found after five
    /// more attempts and quarantined alone.
    @Test func aRecordThatTheStoreRefusesIsFoundAndQuarantined() throws {
        var talk = try Talk(window: 4)
        talk.goOnline()
        for seq in 1...4 { _ = talk.receivePoint(seq) }
        let error = TrackingError(.storeRefused, "the fourth is poison")
        for wait in [250, 500] {
            #expect(talk.happened(.storeFailed(error)) == [.deliver(.storeAway(error, retry: .milliseconds(wait)))])
            #expect(Talk.stored(talk.wait(wait)) == 4, "the same again")
        }
        var actions = talk.happened(.storeFailed(error))
        #expect(actions.contains(.deliver(.storeRefuses(error))))
        #expect(Talk.stored(actions) == 2, "the first half")
        actions = talk.happened(.stored(self.ack(2)))
        #expect(Talk.released(actions) == nil && Talk.stored(actions) == 2, "the second")
        actions = talk.happened(.storeFailed(error))
        #expect(Talk.stored(actions) == 1, "its first half")
        actions = talk.happened(.stored(self.ack(3)))
        #expect(Talk.stored(actions) == 1)
        actions = talk.happened(.storeFailed(error))
        guard case .store(let last)? = actions.first else { Issue.record("nothing is stored"); return }
        #expect(last.recordings.isEmpty && last.refused.map(\.seq) == [4])
        #expect(last.refused.first?.reason == "the fourth is poison")
        #expect(last.refused.first?.topic == "tracking/van")
        actions = talk.happened(.stored(self.ack(4)))
        #expect(Talk.released(actions) == 4, "all of it is handled")
    }

    @Test func aRefusedSubscriptionIsTriedAgain() throws {
        var talk = try Talk()
        func asked(_ actions: [RecorderStateMachine.Action]) -> [String] {
            actions.flatMap { action -> [String] in
                guard case .intake(let commands) = action, case .subscribe(let filters, _)? = commands.first else {
                    return []
                }
                return filters
            }
        }
        let all = asked(talk.happened(.intake([.connected(connection: 0, sessionPresent: false)])))
        let refusal = TrackingError(.notAuthorized, "not now")
        var answers: [TrackingError?] = all.map { _ in nil }
        answers[1] = refusal
        let reported = RecorderStateMachine.Action.deliver(.subscriptionRefused(filter: all[1], refusal))
        #expect(talk.happened(.intake([.subscribed(1, refusals: answers)])) == [reported])
        let rest = asked(talk.wait(100))
        #expect(rest.count == 4)
        _ = talk.happened(.intake([.subscribed(1, refusals: rest.map { _ in nil })]))
        #expect(asked(talk.wait(100)) == [])
        for wait in [800, 2000, 4000] {
            #expect(asked(talk.wait(wait - 1)) == [])
            #expect(asked(talk.wait(1)) == [all[1]])
            #expect(talk.happened(.intake([.subscribed(1, refusals: [refusal])])) == [], "it was told")
        }
        #expect(asked(talk.wait(8000)) == [all[1]])
        _ = talk.happened(.intake([.subscribed(1, refusals: [nil])]))
        #expect(asked(talk.wait(900_000)) == [])
    }

    /// In a group each acknowledgement is published at once. The connection is lost before the broker answers any of
    /// them.
    @Test func theLastAcknowledgementIsPublishedAgain() throws {
        var talk = try Talk(window: 1, group: "all")
        talk.goOnline()
        for seq in 1...20 {
            _ = talk.receivePoint(seq)
            #expect(!Talk.published(talk.happened(.stored(self.ack(UInt64(seq))))).isEmpty)
        }
        _ = talk.happened(.voice([.disconnected(Disconnection(reason: nil, retry: .seconds(1), lasted: .zero))]))
        let again = Talk.published(talk.connectMember(1))
        #expect(again.contains { $0.hasPrefix("tracking/van/ack/") && $0.contains("\"s1\":20") }, "\(again)")
    }

    @Test func theSearchForARecordWaitsForAnUnavailableStore() throws {
        var talk = try Talk(window: 2)
        talk.goOnline()
        for seq in 1...2 { _ = talk.receivePoint(seq) }
        let (refused, away) = (TrackingError(.storeRefused, "poison"), TrackingError(.storeFailed, "gone"))
        for wait in [250, 500] {
            _ = talk.happened(.storeFailed(refused))
            _ = talk.wait(wait)
        }
        #expect(Talk.stored(talk.happened(.storeFailed(refused))) == 1)
        #expect(talk.happened(.storeFailed(away)) == [.deliver(.storeAway(away, retry: .seconds(1)))])
        #expect(Talk.stored(talk.wait(1000)) == 1, "the same half again")
        #expect(Talk.stored(talk.happened(.stored(self.ack(1)))) == 1)
        #expect(Talk.released(talk.happened(.stored(self.ack(2)))) == 2)
    }

    @Test func aBatchIsAnsweredAtOnceAndALivePositionALittleLater() throws {
        var talk = try Talk(window: 1)
        talk.goOnline()
        _ = talk.receivePoint(1)
        #expect(Talk.published(talk.happened(.stored(self.ack(1)))) == [])
        _ = talk.receive("tracking/van/history", #"{"batch":"b","stream":"s1","oldest":1,"points":[],"remaining":0}"#)
        #expect(
            Talk.published(talk.happened(.stored(self.ack(1)))) == [#"tracking/van/ack/keeper {"streams":{"s1":1}}"#])
        _ = talk.receivePoint(2)
        #expect(Talk.published(talk.happened(.stored(self.ack(2)))) == [])
        #expect(Talk.published(talk.wait(5000)).contains(#"tracking/van/ack/keeper {"streams":{"s1":2}}"#))
    }

    /// The secret is sent to the broker, and is in no event, log or dump.
    @Test func aGroupSubscribesUnderItsSecretAndReportsItNowhere() throws {
        var talk = try Talk(group: "team")
        let secret = "0123456789abcdef"
        let actions = talk.happened(.intake([.connected(connection: 0, sessionPresent: true)]))
        let asked = actions.compactMap { action -> [String]? in
            guard case .intake(let commands) = action, case .subscribe(let filters, _) = commands.first else {
                return nil
            }
            return filters
        }
        #expect(asked.first?.allSatisfy { $0.hasPrefix("$share/\(secret)/tracking/") } == true, "\(asked)")
        let refusal = TrackingError(.notAuthorized, "no")
        let refusals = [refusal] + Array(repeating: nil, count: (asked.first?.count ?? 1) - 1)
        let events = talk.happened(.intake([.subscribed(1, refusals: refusals)]))
        #expect(events == [.deliver(.subscriptionRefused(filter: "tracking/+/history", refusal))])
        let group = try #require(talk.machine.configuration.group)
        var text = ""
        dump(group, to: &text)
        #expect(!"\(group) \(String(reflecting: group)) \(text)".contains(secret))
        #expect(group.description == "team")
    }

    @Test(arguments: ["", "0123456789abcde", "0123456789abcdef/x", "a-name-that-is-long-enough"])
    func aSecretThatCanBeGuessedIsRefused(secret: String) throws {
        let error = #expect(throws: TrackingError.self) {
            try RecorderGroup(name: ClientID("a-name-that-is-long-enough"), secret: secret)
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(secret.isEmpty || error?.message.contains(secret) == false)
    }

    @Test func anUnansweredAcknowledgementIsPublishedAgain() throws {
        var talk = try Talk(window: 1, group: "team")
        talk.goOnline()
        _ = talk.receive("tracking/van/history", #"{"batch":"b","stream":"s1","oldest":1,"points":[],"remaining":0}"#)
        let answer = #"tracking/van/ack/team {"streams":{"s1":1}}"#
        #expect(Talk.published(talk.happened(.stored(self.ack(1)))) == [answer])
        _ = talk.happened(.voice([.disconnected(Disconnection(reason: nil, retry: .zero, lasted: .zero))]))
        let actions = talk.connectMember(1)
        #expect(Talk.published(actions).last == answer)
    }

    @Test func aLostSessionIsAPossibleGapForARecorderWithAHistory() throws {
        var first = try Talk(isFirstRun: true)
        let none = first.happened(.intake([.connected(connection: 0, sessionPresent: false)]))
        #expect(!none.contains(.deliver(.possibleGap)))
        var again = try Talk(isFirstRun: false)
        let noted = again.happened(.intake([.connected(connection: 0, sessionPresent: false)]))
        #expect(noted.contains(.deliver(.possibleGap)))
        let actions = again.wait(50)
        guard case .store(let batch)? = actions.first else { Issue.record("nothing is stored"); return }
        #expect(batch.refused.first?.reason.contains("kept no session") == true)
    }

    @Test func aStoreForALostConnectionReleasesNothingOfTheNext() throws {
        var talk = try Talk(window: 1)
        talk.goOnline()
        _ = talk.receivePoint(1)
        _ = talk.happened(.intake([.disconnected(Disconnection(reason: nil, retry: .zero, lasted: .zero))]))
        _ = talk.happened(.intake([.connected(connection: 1, sessionPresent: true)]))
        _ = talk.receivePoint(1)
        let actions = talk.happened(.stored(self.ack(1)))
        #expect(actions.contains(.intake([.acknowledge(through: 1, connection: 0)])))
        #expect(talk.happened(.stored(self.ack(1))).contains(.intake([.acknowledge(through: 1, connection: 1)])))
    }

    @Test func messagesThatTheBrokerDropsAreReported() throws {
        var talk = try Talk()
        talk.goOnline()
        func dropped(_ count: Int) -> [RecorderStateMachine.Action] {
            let message = IncomingMessage(
                topic: "$SYS/broker/publish/messages/dropped", payload: Array("\(count)".utf8)[...], isRetained: false)
            return talk.happened(.voice([.received(message)]))
        }
        #expect(dropped(7) == [], "that was before")
        #expect(dropped(7) == [])
        #expect(dropped(12) == [.deliver(.brokerDropped(5))])
    }

    @Test func beforeTheEndEverythingIsStored() throws {
        var talk = try Talk()
        talk.goOnline()
        _ = talk.receivePoint(1)
        #expect(Talk.stored(talk.happened(.stop)) == 1)
        let actions = talk.happened(.stored(self.ack(1)))
        #expect(Talk.released(actions) == 1)
        #expect(actions.contains(.intake([.close(within: .zero)])))
        #expect(Talk.published(actions).contains { $0.contains("/ack/keeper") })
        #expect(Talk.published(actions).last?.contains("offline") == true)
        let end = TransportEvent.disconnected(Disconnection(reason: nil, retry: nil, lasted: .zero))
        _ = talk.happened(.intake([end]))
        #expect(!talk.machine.isClosed)
        _ = talk.happened(.voice([end]))
        #expect(talk.machine.isClosed)
    }

    @Test func anEndDoesNotWaitForAnUnavailableStore() throws {
        var talk = try Talk(window: 1)
        talk.goOnline()
        _ = talk.receivePoint(1)
        _ = talk.happened(.stop)
        #expect(!talk.wait(4999).contains(.intake([.close(within: .zero)])))
        #expect(talk.wait(1).contains(.intake([.close(within: .zero)])))
    }
}

extension TrackableID {
    fileprivate static func known(_ name: String) -> TrackableID {
        do { return try TrackableID(name) } catch { preconditionFailure("\(error)") }
    }
}
