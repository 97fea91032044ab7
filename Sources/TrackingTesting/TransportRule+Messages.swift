import TrackingCore

/// The checks of those rules for transports and brokers that concern retained messages.
extension TransportStage {
    func retainedComesBeforeTheNextAnswer() async throws {
        try await self.withConnected("keeper") { talk in
            try await talk.publish(
                OutgoingMessage("a/b", "old", isRetained: true), OutgoingMessage("a/b", "kept", isRetained: true),
                OutgoingMessage("a/c", "passing"))
            let before = try await talk.standing("a/+")
            try expect(before.map(\.text) == ["kept"], "the retained messages are \(before)")
            try expect(before.allSatisfy(\.isRetained), "a retained message is not marked as retained")
            try await talk.publish(OutgoingMessage("a/b", "live", isRetained: true))
            let live = try await talk.messages(2).last
            try expect(
                live?.text == "live" && live?.isRetained == false, "the live message was \(String(describing: live))")
        }
    }

    func subscribingAgainBringsRetainedAgain() async throws {
        try await self.withConnected("again") { talk in
            try await talk.publish(OutgoingMessage("again", "kept", isRetained: true))
            for _ in 0..<2 {
                let texts = try await talk.standing("again").map(\.text)
                try expect(texts == ["kept"], "the retained messages are \(texts)")
            }
            // A repeated subscription is still one subscription.
            try await talk.publish(OutgoingMessage("again", "live"))
            try await talk.publish(OutgoingMessage("again", "marker"))
            let texts = try await talk.messages(4).map(\.text)
            try expect(texts == ["kept", "kept", "live", "marker"], "the received messages are \(texts)")
        }
    }

    func anEmptyPayloadClears() async throws {
        try await self.withConnected("clearer") { talk in
            try await talk.publish(OutgoingMessage("clear/a", "kept", isRetained: true))
            try await talk.subscribe("clear/#")
            try await talk.publish(OutgoingMessage("clear/a", "", isRetained: true))
            let messages = try await talk.messages(2)
            try expect(messages.map(\.text) == ["kept", ""], "the received messages are \(messages)")
            try expect(messages.map(\.isRetained) == [true, false], "the received messages are \(messages)")
        }
        try await self.withConnected("later") { talk in
            let before = try await talk.standing("clear/#")
            try expect(before.isEmpty, "after clearing, the retained messages are \(before)")
        }
    }

    func anExpiredMessageIsGone() async throws {
        try await self.withConnected("expiring") { talk in
            var message = OutgoingMessage("expiring/short", "short", isRetained: true)
            message.properties.expiry = .seconds(1)
            try await talk.publish(message, OutgoingMessage("expiring/long", "long", isRetained: true))
            let before = try await talk.standing("expiring/+").map(\.text)
            guard self.isMQTT5 else {
                return try expect(
                    Set(before) == ["short", "long"],
                    "MQTT 3.1.1 knows no expiry, but the retained messages are \(before)")
            }
            // Brokers count expiries in whole seconds, and report none of them.
            try await Task.sleep(for: .seconds(3))
            let after = try await talk.standing("expiring/+").map(\.text)
            try expect(after == ["long"], "3 s after an expiry of 1 s, the retained messages are \(after)")
        }
    }
}

/// The checks of the rules for transports and brokers that concern publishing and receiving messages.
extension TransportStage {
    func ownMessagesComeBack() async throws {
        try await self.withConnected("echo") { talk in
            try await talk.subscribe("echo")
            try await talk.publish(OutgoingMessage("echo", "hello"))
            let messages = try await talk.messages(1)
            try expect(
                messages.map(\.text) == ["hello"] && !messages[0].isRetained, "the received messages are \(messages)")
        }
    }

    func aForbiddenMessageIsRefused() async throws {
        try await self.withConnected("meek") { talk in
            try await talk.subscribe("#")
            let refusals = try await talk.publish(
                OutgoingMessage(self.forbiddenTopic, "x", isRetained: true), OutgoingMessage("meek/free", "y"))
            let expected: [TrackingError.Code?] = self.isMQTT5 ? [.notAuthorized, nil] : [nil, nil]
            try expect(refusals.map { $0?.code } == expected, "the rejections were \(refusals)")
            if self.isMQTT5 { try expect(refusals[0]?.reasonCode == 0x87, "the rejections were \(refusals)") }
            let messages = try await talk.messages(1)
            try expect(messages.map(\.topic) == ["meek/free"], "the received messages are \(messages)")
            let before = try await talk.standing(self.forbiddenTopic)
            try expect(before.isEmpty, "after the rejection, the retained messages are \(before)")
        }
    }

    func whatMQTTDoesNotAllowIsRefused() async throws {
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
                ], "the rejections were \(codes)")
            let refusals = try await talk.subscribe("a/#/b", "fine/#", "", "b\0", "a+/b", "+/a/#")
            let wanted: [TrackingError.Code?] = [.invalidName, nil, .invalidName, .invalidName, .invalidName, nil]
            try expect(refusals.map { $0?.code } == wanted, "the rejections were \(refusals)")
        }
    }

    func theOrderIsKept() async throws {
        try await self.withConnected("order") { talk in
            try await talk.subscribe("order/#")
            let messages = (0..<1_000).map { OutgoingMessage("order/\($0 % 3)", "\($0)") }
            let start = talk.events.count
            try await talk.publish(all: messages)
            let texts = try await talk.messages(1_000).map(\.text)
            for topic in 0..<3 {
                let own = texts.filter { Int($0).map { $0 % 3 == topic } ?? false }
                let sent = stride(from: topic, to: 1_000, by: 3).map(String.init)
                try expect(own == sent, "the order of topic \(topic) is lost")
            }
            let tokens = talk.events[start...].compactMap { event -> TransportToken? in
                if case .published(let token, _) = event { token } else { nil }
            }
            try expect(tokens == tokens.sorted(), "the order of the answers is lost")
        }
    }

    func wildcardsMatch() async throws {
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

    func anUnsubscribedTopicIsSilent() async throws {
        try await self.withConnected("leaver") { talk in
            try await talk.subscribe("leave/a", "leave/b")
            talk.transport.send([.unsubscribe(["leave/a"])])
            try await talk.publish(OutgoingMessage("leave/a", "1"), OutgoingMessage("leave/b", "2"))
            let topics = try await talk.messages(1).map(\.topic)
            try expect(topics == ["leave/b"], "the received messages are \(topics)")
        }
    }

    func aSharedSubscriptionDivides() async throws {
        let filter = "$share/recorders/shared/#"
        try await self.withConnected("one") { one in
            try await self.withConnected("two") { two in
                try await one.subscribe(filter)
                try await two.subscribe(filter)
                try await one.publish(all: (0..<100).map { OutgoingMessage("shared/\($0)", "x") })
                // Each of the two members receives the marker after its share.
                try await one.subscribe("marker")
                try await two.subscribe("marker")
                try await one.publish(OutgoingMessage("marker", "x"))
                try await one.message(on: "marker")
                try await two.message(on: "marker")
                let shares = [one.messages, two.messages].map { $0.map(\.topic).filter { $0 != "marker" } }
                try expect(!shares[0].isEmpty && !shares[1].isEmpty, "one member received all messages")
                try expect(
                    (shares[0] + shares[1]).sorted() == (0..<100).map { "shared/\($0)" }.sorted(),
                    "each message must be delivered once; the members received \(shares.map(\.count))")
            }
        }
    }

    func propertiesTravel() async throws {
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
            try expect(received == expected, "the received properties are \(received)")
        }
    }
}
