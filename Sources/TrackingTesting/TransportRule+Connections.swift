import TrackingCore

/// The checks of the rules for transports and brokers that concern the beginning and the end of connections.
extension TransportStage {
    func connectsFirst() async throws {
        try await self.with("first") { talk in
            let events = try await talk.until("anything") { _ in true }
            try expect(events == [.connected(connection: 0, sessionPresent: false)], "the first events were \(events)")
        }
    }

    func commandsAreForTheConnectionThatWasSeen() async throws {
        let id = try ClientID("late")
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("late/#")
            try await self.with("late", will: { _ in OutgoingMessage("late/will", "") }) { talk in
                talk.transport.send([.publish(OutgoingMessage("late/early", ""), 1)])
                try await talk.until("a connection") { $0.isConnected }
                talk.transport.send([.publish(OutgoingMessage("late/seen", ""), 2)])
                try await talk.until("an answer") { $0 == .published(2, refusal: nil) }
                try self.cut(id)
                // The broker has ended the connection, but the client's caller has not read that event.
                try await witness.until("the will") { $0.message?.topic == "late/will" }
                talk.transport.send([.publish(OutgoingMessage("late/void", ""), 3)])
                try await talk.until("another connection") { $0.isConnected }
                talk.transport.send([.publish(OutgoingMessage("late/new", ""), 4)])
                let events = try await talk.until("an answer") { $0 == .published(4, refusal: nil) }
                try expect(events == [.published(4, refusal: nil)], "the new connection received \(events)")
            }
            try await witness.until("the last") { $0.message?.topic == "late/new" }
            let topics = witness.messages.map(\.topic)
            try expect(topics == ["late/seen", "late/will", "late/new"], "the published topics are \(topics)")
        }
    }

    func aCutConnectionSendsItsWillAndComesBack() async throws {
        let will: @Sendable (Int) -> OutgoingMessage = { OutgoingMessage("will", "\($0)", isRetained: true) }
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("will")
            try await self.withConnected("cut", will: will) { talk in
                for number in 0..<2 {
                    try self.cut(ClientID("cut"))
                    let texts = try await witness.messages(number + 1).map(\.text)
                    try expect(texts.last == "\(number)", "the wills after connection \(number) were \(texts)")
                    let events = try await talk.until("another connection") { $0.isConnected }
                    try expect(
                        events.last == .connected(connection: number + 1, sessionPresent: false),
                        "the events of the new connection were \(events)")
                    let ends = events.compactMap(\.disconnection)
                    try expect(!ends.isEmpty, "no disconnection was reported before the new connection")
                    try expect(
                        ends.allSatisfy { $0.reason != nil && $0.retry != nil }, "the disconnections were \(ends)")
                    try expect(ends[0].lasted != nil, "the duration of the lost connection is missing")
                }
                talk.transport.send([.close(within: .seconds(5))])
                await talk.untilEnd()
            }
        }
        try await self.withConnected("later") { later in
            let texts = try await later.standing("will").map(\.text)
            try expect(texts == ["1"], "the retained will is \(texts)")
        }
    }

    func aCloseSendsNoWill() async throws {
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("bye/#")
            try await self.withConnected("bye", will: { _ in OutgoingMessage("bye/will", "") }) { talk in
                talk.transport.send([.close(within: .seconds(5))])
                await talk.untilEnd()
                let end = talk.events.last?.disconnection
                try expect(end != nil && end?.reason == nil && end?.retry == nil, "the last events were \(talk.events)")
            }
            try await witness.publish(OutgoingMessage("bye/marker", ""))
            let topics = try await witness.messages(1).map(\.topic)
            try expect(topics == ["bye/marker"], "the published topics are \(topics)")
        }
    }

    func aCancelledTaskSendsItsWill() async throws {
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("rude/#")
            try await self.withConnected("rude", will: { _ in OutgoingMessage("rude/will", "") }) { _ in }
            let topics = try await witness.messages(1).map(\.topic)
            try expect(topics == ["rude/will"], "the published topics are \(topics)")
        }
    }

    func aCloseWaitsForAnswers() async throws {
        try await self.withConnected("hasty") { talk in
            let messages = (0..<200).map { OutgoingMessage("hasty", "\($0)") }
            let commands = messages.enumerated().map { TransportCommand.publish($1, TransportToken($0)) }
            talk.transport.send(commands + [.close(within: .seconds(10)), .publish(messages[0], 999)])
            await talk.untilEnd()
            let answers = talk.events.filter { if case .published = $0 { true } else { false } }
            try expect(
                answers == (0..<200).map { .published($0, refusal: nil) },
                "\(answers.count) of 200 publishes were answered")
        }
    }

    func theSecondOfANameTakesOver() async throws {
        try await self.withConnected("witness") { witness in
            try await witness.subscribe("double")
            try await self.withConnected("double", will: { OutgoingMessage("double", "\($0)") }) { first in
                try await self.withConnected("double") { second in
                    let end = try await first.until("an end") { $0.disconnection != nil }.last?.disconnection
                    try expect(
                        end?.retry != nil && end?.lasted != nil, "the first client received \(String(describing: end))")
                    try expect(end?.reason != nil, "the first client received \(String(describing: end))")
                    let will = try await witness.messages(1).map(\.text)
                    try expect(will.first == "0", "the will of the first was \(will)")
                    second.transport.send([.close(within: .zero)])
                    await second.untilEnd()
                }
            }
        }
    }
}
