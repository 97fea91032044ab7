import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The client's reactions to failures of the broker or the network.
@Suite(.timeLimit(.minutes(5))) struct FaultTests {
    @Test func aRestartedBrokerIsConnectedToAgain() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("steady", broker) { client in
            try await client.connected(0)
            try await broker.restart()
            try await client.connected(1)
            #expect(try await client.publish([OutgoingMessage("a", "x")]) == [nil])
            let lost = try #require(client.log.elements.compactMap(\.disconnection).first)
            #expect(lost.reason?.code == .connectionLost)
            #expect(lost.retry != nil)
            #expect(lost.lasted != nil)
        }
    }

    @Test func aKilledBrokerIsConnectedToAgain() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("steady", broker) { client in
            try await client.connected(0)
            try await broker.kill()
            try await client.disconnection { $0.lasted == nil && $0.reason?.code == .brokerUnreachable }
            try await broker.restart()
            try await client.connected(1)
        }
    }

    @Test func aFrozenBrokerIsGivenUpWhenItDoesNotAnswerAPublish() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("watchful", port: broker.port)
        configuration.answerTimeout = .milliseconds(300)
        configuration.connectTimeout = .milliseconds(300)
        try await TestClient.with(configuration) { client in
            try await client.connected(0)
            broker.freeze()
            client.transport.send([.publish(OutgoingMessage("a", "x"), 1)])
            // The first attempts of a busy machine may have failed before.
            let lost = try await client.disconnection { $0.lasted != nil }
            #expect(lost.reason?.code == .connectionLost)
            #expect(lost.reason?.message.contains("unanswered") == true)
            // The kernel of a frozen broker still accepts connections, so the attempt times out.
            try await client.disconnection { $0.lasted == nil && $0.reason?.code == .brokerUnreachable }
            broker.thaw()
            try await client.connected(1)
        }
    }

    @Test func aFrozenBrokerIsGivenUpWhenItDoesNotAnswerASubscription() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("watchful", port: broker.port)
        configuration.answerTimeout = .milliseconds(300)
        try await TestClient.with(configuration) { client in
            try await client.connected(0)
            broker.freeze()
            client.transport.send([.subscribe(["a"], 1)])
            try await client.disconnection()
            broker.thaw()
            try await client.connected(1)
        }
    }

    @Test func aSilentBrokerIsFoundOutByAPing() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("idle", port: broker.port)
        configuration.keepAlive = .seconds(5)
        try await TestClient.with(configuration) { client in
            try await client.connected(0)
            broker.freeze()
            let events = try await client.log.wait("a lost connection", within: .seconds(60)) {
                $0.disconnection != nil
            }
            broker.thaw()
            #expect(events.compactMap(\.disconnection).first?.reason?.message.contains("ping") == true)
        }
    }

    @Test func theNextEndpointIsTriedAtOnce() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("mover", port: LoopbackPort.free())
        configuration.endpoints.append(MQTTEndpoint(host: "127.0.0.1", port: broker.port))
        configuration.firstWait = .seconds(60)
        configuration.longestWait = .seconds(60)
        try await TestClient.with(configuration) { client in
            try await client.connected(0)
            let failed = try #require(client.log.elements.first?.disconnection)
            #expect(failed.retry == .zero)
            #expect(failed.reason?.code == .brokerUnreachable)
        }
    }

    @Test func aNameWithSeveralAddressesIsTriedAtEach() async throws {
        let broker = try await MosquittoProcess.start()  // 127.0.0.1 only; localhost may be ::1 first
        var configuration = try TestClient.configuration("named", port: broker.port)
        configuration.endpoints = [MQTTEndpoint(host: "localhost", port: broker.port)]
        try await TestClient.with(configuration) { client in try await client.connected(0) }
    }

    @Test func aNameWithoutAnAddressIsAnError() async throws {
        var configuration = try TestClient.configuration("lost", port: 1883)
        configuration.endpoints = [MQTTEndpoint(host: "no-such-host.invalid", port: 1883)]
        configuration.connectTimeout = .seconds(20)
        try await TestClient.with(configuration) { client in
            let reason = try await client.disconnection().reason
            #expect(reason?.code == .brokerUnreachable)
            #expect(reason?.message.contains("no-such-host.invalid") == true)
        }
    }

    @Test func theWillIsSentWhenAnotherTakesTheConnectionOver() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("double", port: broker.port)
        configuration.firstWait = .seconds(600)  // the first client must not reconnect
        configuration.longestWait = .seconds(600)
        configuration.will = { OutgoingMessage("will", "connection \($0)", isRetained: true) }
        try await TestClient.with("watcher", broker) { watcher in
            try await watcher.connected()
            try await watcher.subscribe(["will"])
            try await TestClient.with(configuration) { first in
                try await first.connected()
                try await TestClient.with("double", broker) { second in
                    try await second.connected()
                    let messages = try await watcher.messages(1)
                    #expect(messages.map(\.text) == ["connection 0"])
                    try await first.disconnection()
                }
            }
        }
    }

    @Test func theReasonOfTheBrokersDisconnectIsReported() async throws {
        let broker = try FakeBroker { _, _ in .send(FakeBroker.accepts5 + [0xE0, 0x02, 0x8E, 0x00]) }
        try await TestClient.with(TestClient.configuration("double", port: broker.port)) { client in
            let lost = try await client.disconnection()
            #expect(lost.reason?.code == .takenOver)
            #expect(lost.reason?.reasonCode == 0x8E)
        }
    }

    @Test func fourShortConnectionsInARowAreSuspicious() async throws {
        let broker = try FakeBroker { _, _ in .sendAndClose(FakeBroker.accepts5) }
        try await TestClient.with(TestClient.configuration("double", port: broker.port)) { client in
            let events = try await client.log.wait("five ends", count: 5) { $0.disconnection != nil }
            let codes = events.compactMap { $0.disconnection?.reason?.code }.prefix(5)
            #expect(Array(codes) == [.connectionLost, .connectionLost, .connectionLost, .takenOver, .takenOver])
            #expect(events.compactMap(\.disconnection).allSatisfy { $0.retry != nil })
        }
    }

    @Test func theWillIsMadeAnewForEachConnection() async throws {
        let broker = try await MosquittoProcess.start()
        let asked = EventLog<Int>()
        var configuration = try TestClient.configuration("willing", port: broker.port)
        configuration.will = { connection in
            asked.append([connection])
            return OutgoingMessage("will", "\(connection)")
        }
        try await TestClient.with(configuration) { client in
            try await client.connected(0)
            try await broker.restart()
            try await client.connected(1)
            try await broker.stop()
            try await asked.wait("two attempts with number 2", count: 2) { $0 == 2 }
            try await broker.restart()
            try await client.connected(2)
            #expect(asked.elements == asked.elements.sorted())
            #expect(Set(asked.elements) == [0, 1, 2])
        }
    }

    @Test func messagesForAnEarlierConnectionAreNotSentOnTheNext() async throws {
        let broker = try await MosquittoProcess.start()
        let transport = try MQTTTransport(configuration: TestClient.configuration("late", port: broker.port))
        try await TestClient.with("watcher", broker) { watcher in
            try await watcher.connected()
            try await watcher.subscribe(["late/#"])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await transport.run() }
                defer { group.cancelAll() }
                var events = transport.events.makeAsyncIterator()
                #expect(await events.next() == [.connected(connection: 0, sessionPresent: false)])
                var once = try TestClient.configuration("late", port: broker.port)
                once.firstWait = .seconds(600)  // a thief that came back would cut the connection a second time
                once.longestWait = .seconds(600)
                try await TestClient.with(once) { thief in try await thief.connected() }
                // The role has not read the disconnection yet, but the transport is connected again.
                try await watcher.connected()
                transport.send([.publish(OutgoingMessage("late/old", "x"), 1)])
                var isBack = false
                while !isBack, let batch = await events.next() { isBack = batch.contains { $0.isConnected(1) } }
                transport.send([.publish(OutgoingMessage("late/new", "x"), 2)])
                try await watcher.log.wait("the new one") { $0.message?.topic == "late/new" }
                #expect(watcher.messages.map(\.topic) == ["late/new"])
            }
        }
    }
}
