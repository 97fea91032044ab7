public import TrackingCore

/// What every ``MessageTransport`` and its broker have to keep to, one rule a case: checked on the broker in memory and on
/// a real one.
///
///     @Test(arguments: TransportRule.allCases) func conforms(rule: TransportRule) async throws {
///         try await rule.check(on: stage)
///     }
public enum TransportRule: String, CaseIterable, Sendable {
    /// Nothing is told before the first `.connected`, which is number 0 of a new session.
    case connectsFirst
    /// What is sent before the first `.connected` was read, or for an earlier connection, is not carried out.
    case commandsAreForTheConnectionThatWasSeen
    /// Retained messages come before the answer to the next subscription and are marked; live ones are not.
    case retainedComesBeforeTheNextAnswer
    /// Who subscribes again is sent what stands again.
    case subscribingAgainBringsRetainedAgain
    /// An empty retained message clears its topic, and is delivered as any other to those who listen.
    case anEmptyPayloadClears
    /// Messages come back to who sent them.
    case ownMessagesComeBack
    /// A cut connection sends its will, tells why and when it is tried again, and comes back under the next number.
    case aCutConnectionSendsItsWillAndComesBack
    /// An orderly close sends no will, is told without a reason, and ends the events.
    case aCloseSendsNoWill
    /// A task that is cancelled sends its will: it has said no goodbye.
    case aCancelledTaskSendsItsWill
    /// A close waits until what was sent before is answered.
    case aCloseWaitsForAnswers
    /// Of two clients of one name the first loses its connection, and its will is sent.
    case theSecondOfANameTakesOver
    /// What the broker's rules forbid is not delivered, and refused where the version of MQTT can say so.
    case aForbiddenMessageIsRefused
    /// What MQTT does not allow is refused, and the rest goes on.
    case whatMQTTDoesNotAllowIsRefused
    /// Messages of one topic arrive in the order in which they were sent; so do the answers.
    case theOrderIsKept
    /// `+` and `#` match as MQTT has it, the broker's own topics not at all.
    case wildcardsMatch
    /// What was unsubscribed is silent.
    case anUnsubscribedTopicIsSilent
    /// Each message goes to one member of a shared subscription.
    case aSharedSubscriptionDivides
    /// Content type, response topic, correlation data and expiry travel on MQTT 5, and are dropped before it.
    case propertiesTravel
    /// A retained message is not delivered after it has expired.
    case anExpiredMessageIsGone

    /// Checks it.
    ///
    /// - Parameter limit: When to give up.
    /// - Throws: ``ConformanceFailure`` that says what was broken, or why the stage could not be set up.
    public func check(on stage: TransportStage<some MessageTransport>, within limit: Duration = .seconds(20))
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.play(stage) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw ConformanceFailure("\(self.rawValue): not over within \(limit)")
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func play(_ stage: TransportStage<some MessageTransport>) async throws {
        switch self {
        case .connectsFirst: try await stage.connectsFirst()
        case .commandsAreForTheConnectionThatWasSeen: try await stage.commandsAreForTheConnectionThatWasSeen()
        case .retainedComesBeforeTheNextAnswer: try await stage.retainedComesBeforeTheNextAnswer()
        case .subscribingAgainBringsRetainedAgain: try await stage.subscribingAgainBringsRetainedAgain()
        case .anEmptyPayloadClears: try await stage.anEmptyPayloadClears()
        case .ownMessagesComeBack: try await stage.ownMessagesComeBack()
        case .aCutConnectionSendsItsWillAndComesBack: try await stage.aCutConnectionSendsItsWillAndComesBack()
        case .aCloseSendsNoWill: try await stage.aCloseSendsNoWill()
        case .aCancelledTaskSendsItsWill: try await stage.aCancelledTaskSendsItsWill()
        case .aCloseWaitsForAnswers: try await stage.aCloseWaitsForAnswers()
        case .theSecondOfANameTakesOver: try await stage.theSecondOfANameTakesOver()
        case .aForbiddenMessageIsRefused: try await stage.aForbiddenMessageIsRefused()
        case .whatMQTTDoesNotAllowIsRefused: try await stage.whatMQTTDoesNotAllowIsRefused()
        case .theOrderIsKept: try await stage.theOrderIsKept()
        case .wildcardsMatch: try await stage.wildcardsMatch()
        case .anUnsubscribedTopicIsSilent: try await stage.anUnsubscribedTopicIsSilent()
        case .aSharedSubscriptionDivides: try await stage.aSharedSubscriptionDivides()
        case .propertiesTravel: try await stage.propertiesTravel()
        case .anExpiredMessageIsGone: try await stage.anExpiredMessageIsGone()
        }
    }
}

private func expect(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw ConformanceFailure(what()) }
}

// MARK: - Connections

extension TransportStage {
    fileprivate func connectsFirst() async throws {
        try await self.with("first") { talk in
            let events = try await talk.until("anything") { _ in true }
            try expect(events == [.connected(connection: 0, sessionPresent: false)], "it began with \(events)")
        }
    }

    fileprivate func commandsAreForTheConnectionThatWasSeen() async throws {
        let id = try ClientID("late")
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("late/#")
            try await self.with("late", will: { _ in OutgoingMessage("late/will", "") }) { talk in
                talk.transport.send([.publish(OutgoingMessage("late/early", ""), 1)])
                try await talk.until("a connection") { $0.isConnected }
                talk.transport.send([.publish(OutgoingMessage("late/seen", ""), 2)])
                try await talk.until("an answer") { $0 == .published(2, refusal: nil) }
                try self.cut(id)
                // The broker knows of the end, the role does not yet.
                try await witness.until("the will") { $0.message?.topic == "late/will" }
                talk.transport.send([.publish(OutgoingMessage("late/void", ""), 3)])
                try await talk.until("another connection") { $0.isConnected }
                talk.transport.send([.publish(OutgoingMessage("late/new", ""), 4)])
                let events = try await talk.until("an answer") { $0 == .published(4, refusal: nil) }
                try expect(events == [.published(4, refusal: nil)], "on the new connection came \(events)")
            }
            try await witness.until("the last") { $0.message?.topic == "late/new" }
            let topics = witness.messages.map(\.topic)
            try expect(topics == ["late/seen", "late/will", "late/new"], "published was \(topics)")
        }
    }

    fileprivate func aCutConnectionSendsItsWillAndComesBack() async throws {
        let will: @Sendable (Int) -> OutgoingMessage = { OutgoingMessage("will", "\($0)", isRetained: true) }
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("will")
            try await self.withConnected("cut", will: will) { talk in
                for number in 0..<2 {
                    try self.cut(ClientID("cut"))
                    let texts = try await witness.messages(number + 1).map(\.text)
                    try expect(texts.last == "\(number)", "the will of connection \(number) was \(texts)")
                    let events = try await talk.until("another connection") { $0.isConnected }
                    try expect(
                        events.last == .connected(connection: number + 1, sessionPresent: false),
                        "it came back with \(events)")
                    let ends = events.compactMap(\.disconnection)
                    try expect(!ends.isEmpty, "it came back without having been lost")
                    try expect(ends.allSatisfy { $0.reason != nil && $0.retry != nil }, "its ends were \(ends)")
                    try expect(ends[0].lasted != nil, "a connection that stood has lasted")
                }
                talk.transport.send([.close(within: .seconds(5))])
                await talk.untilEnd()
            }
        }
        try await self.withConnected("later") { later in
            let texts = try await later.standing("will").map(\.text)
            try expect(texts == ["1"], "the will that stands is \(texts)")
        }
    }

    fileprivate func aCloseSendsNoWill() async throws {
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("bye/#")
            try await self.withConnected("bye", will: { _ in OutgoingMessage("bye/will", "") }) { talk in
                talk.transport.send([.close(within: .seconds(5))])
                await talk.untilEnd()
                let end = talk.heard.last?.disconnection
                try expect(end != nil && end?.reason == nil && end?.retry == nil, "it ended with \(talk.heard)")
            }
            try await witness.publish(OutgoingMessage("bye/marker", ""))
            let topics = try await witness.messages(1).map(\.topic)
            try expect(topics == ["bye/marker"], "published was \(topics)")
        }
    }

    fileprivate func aCancelledTaskSendsItsWill() async throws {
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("rude/#")
            try await self.withConnected("rude", will: { _ in OutgoingMessage("rude/will", "") }) { _ in }
            let topics = try await witness.messages(1).map(\.topic)
            try expect(topics == ["rude/will"], "published was \(topics)")
        }
    }

    fileprivate func aCloseWaitsForAnswers() async throws {
        try await self.withConnected("hasty") { talk in
            let messages = (0..<200).map { OutgoingMessage("hasty", "\($0)") }
            let commands = messages.enumerated().map { TransportCommand.publish($1, TransportToken($0)) }
            talk.transport.send(commands + [.close(within: .seconds(10)), .publish(messages[0], 999)])
            await talk.untilEnd()
            let answers = talk.heard.filter { if case .published = $0 { true } else { false } }
            try expect(
                answers == (0..<200).map { .published($0, refusal: nil) }, "answered were \(answers.count) of 200")
        }
    }

    fileprivate func theSecondOfANameTakesOver() async throws {
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("double")
            try await self.withConnected("double", will: { OutgoingMessage("double", "\($0)") }) { first in
                try await self.withConnected("double") { second in
                    let end = try await first.until("an end") { $0.disconnection != nil }.last?.disconnection
                    try expect(end?.retry != nil && end?.lasted != nil, "the first was told \(String(describing: end))")
                    try expect(end?.reason != nil, "the first was told \(String(describing: end))")
                    let will = try await witness.messages(1).map(\.text)
                    try expect(will.first == "0", "the will of the first was \(will)")
                    second.transport.send([.close(within: .zero)])
                    await second.untilEnd()
                }
            }
        }
    }
}

// MARK: - Retained messages

extension TransportStage {
    fileprivate func retainedComesBeforeTheNextAnswer() async throws {
        try await self.withConnected("keeper") { talk in
            try await talk.publish(
                OutgoingMessage("a/b", "old", isRetained: true), OutgoingMessage("a/b", "kept", isRetained: true),
                OutgoingMessage("a/c", "passing"))
            let before = try await talk.standing("a/+")
            try expect(before.map(\.text) == ["kept"], "there stands \(before)")
            try expect(before.allSatisfy(\.isRetained), "it was not marked as retained")
            try await talk.publish(OutgoingMessage("a/b", "live", isRetained: true))
            let live = try await talk.messages(2).last
            try expect(live?.text == "live" && live?.isRetained == false, "live came \(String(describing: live))")
        }
    }

    fileprivate func subscribingAgainBringsRetainedAgain() async throws {
        try await self.withConnected("again") { talk in
            try await talk.publish(OutgoingMessage("again", "kept", isRetained: true))
            for _ in 0..<2 {
                let texts = try await talk.standing("again").map(\.text)
                try expect(texts == ["kept"], "there stands \(texts)")
            }
            // It is still one subscription.
            try await talk.publish(OutgoingMessage("again", "live"))
            try await talk.publish(OutgoingMessage("again", "marker"))
            let texts = try await talk.messages(4).map(\.text)
            try expect(texts == ["kept", "kept", "live", "marker"], "received was \(texts)")
        }
    }

    fileprivate func anEmptyPayloadClears() async throws {
        try await self.withConnected("clearer") { talk in
            try await talk.publish(OutgoingMessage("clear/a", "kept", isRetained: true))
            try await talk.subscribe("clear/#")
            try await talk.publish(OutgoingMessage("clear/a", "", isRetained: true))
            let messages = try await talk.messages(2)
            try expect(messages.map(\.text) == ["kept", ""], "received was \(messages)")
            try expect(messages.map(\.isRetained) == [true, false], "received was \(messages)")
        }
        try await self.withConnected("later") { talk in
            let before = try await talk.standing("clear/#")
            try expect(before.isEmpty, "cleared, but there stands \(before)")
        }
    }

    fileprivate func anExpiredMessageIsGone() async throws {
        try await self.withConnected("expiring") { talk in
            var message = OutgoingMessage("expiring/short", "short", isRetained: true)
            message.properties.expiry = .seconds(1)
            try await talk.publish(message, OutgoingMessage("expiring/long", "long", isRetained: true))
            var before = try await talk.standing("expiring/+").map(\.text)
            guard self.isMQTT5 else {
                return try expect(
                    Set(before) == ["short", "long"], "MQTT 3.1.1 knows no expiry, but there came \(before)")
            }
            while before != ["long"] {
                try await Task.sleep(for: .milliseconds(100))
                before = try await talk.standing("expiring/+").map(\.text)
                try expect(before.contains("long"), "what does not expire is gone: \(before)")
            }
        }
    }
}

// MARK: - Messages

extension TransportStage {
    fileprivate func ownMessagesComeBack() async throws {
        try await self.withConnected("echo") { talk in
            try await talk.subscribe("echo")
            try await talk.publish(OutgoingMessage("echo", "hello"))
            let messages = try await talk.messages(1)
            try expect(messages.map(\.text) == ["hello"] && !messages[0].isRetained, "received was \(messages)")
        }
    }

    fileprivate func aForbiddenMessageIsRefused() async throws {
        try await self.withConnected("meek") { talk in
            try await talk.subscribe("#")
            let refusals = try await talk.publish(
                OutgoingMessage(self.forbiddenTopic, "x", isRetained: true), OutgoingMessage("meek/free", "y"))
            let expected: [TrackingError.Code?] = self.isMQTT5 ? [.notAuthorized, nil] : [nil, nil]
            try expect(refusals.map { $0?.code } == expected, "refused: \(refusals)")
            if self.isMQTT5 { try expect(refusals[0]?.reasonCode == 0x87, "refused: \(refusals)") }
            let messages = try await talk.messages(1)
            try expect(messages.map(\.topic) == ["meek/free"], "received was \(messages)")
            let before = try await talk.standing(self.forbiddenTopic)
            try expect(before.isEmpty, "refused, but there stands \(before)")
        }
    }

    fileprivate func whatMQTTDoesNotAllowIsRefused() async throws {
        try await self.withConnected("strict") { talk in
            let limit = WireLimits.maximumPayloadBytes
            let sizes = [limit + 1, limit].map {
                OutgoingMessage(topic: "large", payload: Array(repeating: 1, count: $0), isRetained: false)
            }
            let names = ["a/+", "", "a/#", "a\0b", "fine"].map { OutgoingMessage($0, "x") }
            let codes = try await talk.publish(all: sizes + names).map { $0?.code }
            try expect(
                codes == [
                    .payloadTooLarge, nil, .invalidName, .invalidName, .invalidName, .invalidName, nil,
                ], "refused: \(codes)")
            let refusals = try await talk.subscribe("a/#/b", "fine/#", "", "b\0", "a+/b", "+/a/#")
            let wanted: [TrackingError.Code?] = [.invalidName, nil, .invalidName, .invalidName, .invalidName, nil]
            try expect(refusals.map { $0?.code } == wanted, "refused: \(refusals)")
        }
    }

    fileprivate func theOrderIsKept() async throws {
        try await self.withConnected("order") { talk in
            try await talk.subscribe("order/#")
            let messages = (0..<1_000).map { OutgoingMessage("order/\($0 % 3)", "\($0)") }
            let start = talk.heard.count
            try await talk.publish(all: messages)
            let texts = try await talk.messages(1_000).map(\.text)
            for topic in 0..<3 {
                let own = texts.filter { Int($0).map { $0 % 3 == topic } ?? false }
                let sent = stride(from: topic, to: 1_000, by: 3).map(String.init)
                try expect(own == sent, "the order of topic \(topic) is lost")
            }
            let tokens = talk.heard[start...].compactMap { event -> TransportToken? in
                if case .published(let token, _) = event { token } else { nil }
            }
            try expect(tokens == tokens.sorted(), "the order of the answers is lost")
        }
    }

    fileprivate func wildcardsMatch() async throws {
        let rows: [(filter: String, topics: [String])] = [
            ("w/+", ["w/a", "w/"]), ("w/#", ["w", "w/a", "w/", "w/a/b"]), ("+/a", ["w/a", "/a"]), ("w", ["w"]),
            ("+/+/+", ["w/a/b"]), ("/+", ["/a"]),
        ]
        let all = ["w", "w/a", "w/", "w/a/b", "/a", "W/c/d/e"]
        for (index, row) in rows.enumerated() {
            try await self.withConnected("wild-\(index)") { talk in
                try await talk.subscribe(row.filter, "marker")
                try await talk.publish(all: (all + ["marker"]).map { OutgoingMessage($0, "x") })
                try await talk.message(on: "marker")
                let topics = talk.messages.map(\.topic).dropLast()
                try expect(Array(topics) == all.filter(row.topics.contains), "\(row.filter) matched \(topics)")
            }
        }
        try await self.withConnected("wild") { talk in
            let topics = try await talk.standing("#").map(\.topic)
            try expect(!topics.contains { $0.hasPrefix("$") }, "# matched \(topics)")
        }
    }

    fileprivate func anUnsubscribedTopicIsSilent() async throws {
        try await self.withConnected("leaver") { talk in
            try await talk.subscribe("leave/a", "leave/b")
            talk.transport.send([.unsubscribe(["leave/a"])])
            try await talk.publish(OutgoingMessage("leave/a", "1"), OutgoingMessage("leave/b", "2"))
            let topics = try await talk.messages(1).map(\.topic)
            try expect(topics == ["leave/b"], "received was \(topics)")
        }
    }

    fileprivate func aSharedSubscriptionDivides() async throws {
        let filter = "$share/recorders/shared/#"
        try await self.withConnected("one") { one in
            try await self.withConnected("two") { two in
                try await one.subscribe(filter)
                try await two.subscribe(filter)
                try await one.publish(all: (0..<100).map { OutgoingMessage("shared/\($0)", "x") })
                // Each of the two hears the marker after its share.
                try await one.subscribe("marker")
                try await two.subscribe("marker")
                try await one.publish(OutgoingMessage("marker", "x"))
                try await one.message(on: "marker")
                try await two.message(on: "marker")
                let shares = [one.messages, two.messages].map { $0.map(\.topic).filter { $0 != "marker" } }
                try expect(!shares[0].isEmpty && !shares[1].isEmpty, "one of two had all")
                try expect(
                    (shares[0] + shares[1]).sorted() == (0..<100).map { "shared/\($0)" }.sorted(),
                    "each was to be delivered once; delivered were \(shares.map(\.count))")
            }
        }
    }

    fileprivate func propertiesTravel() async throws {
        try await self.withConnected("properties") { talk in
            var message = OutgoingMessage("properties", "x")
            message.properties.contentType = "application/json"
            message.properties.responseTopic = "answer/here"
            message.properties.correlationData = [0, 1, 255]
            message.properties.expiry = .seconds(60)
            try await talk.subscribe("properties")
            try await talk.publish(message)
            let received = try await talk.messages(1)[0].properties
            let expected = self.isMQTT5 ? message.properties : MessageProperties()
            try expect(received == expected, "the properties that came are \(received)")
        }
    }
}
