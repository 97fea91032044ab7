import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The end of a connection on request.
@Suite(.timeLimit(.minutes(5))) struct ClosingTests {
    @Test func closingWaitsForUnansweredMessagesAndSendsNoWill() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("polite", port: broker.port)
        configuration.will = { _ in OutgoingMessage("will", "x") }
        configuration.sendMaximum = 3
        try await TestClient.with("watcher", broker) { watcher in
            try await watcher.connected()
            try await watcher.subscribe(["#"])
            try await TestClient.with(configuration) { client in
                try await client.connected()
                let messages = (0..<500).map { TransportCommand.publish(OutgoingMessage("m", "\($0)"), UInt64($0)) }
                client.transport.send(messages + [.close(within: .seconds(60))])
                client.transport.send([.publish(OutgoingMessage("m", "too late"), 9_999)])
                let end = try await client.disconnection()
                #expect(end.reason == nil)
                #expect(end.retry == nil)
                #expect(end.lasted != nil)
                #expect(client.log.elements.compactMap(\.published) == Array(0..<500))
                try await client.log.waitForEnd()
            }
            let messages = try await watcher.messages(500)
            #expect(messages.allSatisfy { $0.topic == "m" })
            _ = try await watcher.publish([OutgoingMessage("last", "x")])
            let more = try await watcher.messages(501)
            #expect(more.last?.topic == "last")
        }
    }

    /// A broker that is sending to the client while it closes must not take the end for a lost connection, because it
    /// would publish the will.
    @Test func messagesThatArriveAfterTheDisconnectDoNotResetTheConnection() async throws {
        let message: [UInt8] = [0x30, 0x83, 0x02, 0x00, 0x01, 0x6D] + [UInt8](repeating: 0x78, count: 256)
        let broker = try FakeBroker { _, _ in .sendUntilDisconnect(FakeBroker.accepts5, late: message) }
        for index in 0..<20 {
            try await TestClient.with(TestClient.configuration("polite-\(index)", port: broker.port)) { client in
                try await client.connected()
                client.transport.send([.close(within: .seconds(60))])
                try await client.log.waitForEnd()
            }
        }
        let ends = try await broker.endsAfterDisconnect.wait("the ends of all connections", count: 20) { _ in true }
        #expect(ends.allSatisfy { $0 == 0 })
    }

    /// Mosquitto publishes the will of a client if it cannot send to the client while the DISCONNECT waits to be read.
    @Test func aClientThatClosesWhileItReceivesSendsNoWill() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("watcher", broker) { watcher in
            try await watcher.connected()
            try await watcher.subscribe(["will", "last"])
            try await TestClient.with("sender", broker) { sender in
                try await sender.connected()
                let flow = Task {
                    let messages = [OutgoingMessage](repeating: OutgoingMessage("flow", "x"), count: 50)
                    var token: TransportToken = 1
                    while !Task.isCancelled {
                        _ = try await sender.publish(messages, from: token)
                        token += 50
                    }
                }
                defer { flow.cancel() }
                for index in 0..<60 {
                    var configuration = try TestClient.configuration("polite-\(index)", port: broker.port)
                    configuration.will = { _ in OutgoingMessage("will", "x") }
                    try await TestClient.with(configuration) { client in
                        try await client.connected()
                        try await client.subscribe(["flow"])
                        _ = try await client.messages(1)
                        client.transport.send([.close(within: .seconds(60))])
                        try await client.log.waitForEnd()
                    }
                }
            }
            _ = try await watcher.publish([OutgoingMessage("last", "x")])
            #expect(try await watcher.messages(1).map(\.topic) == ["last"])
        }
    }

    @Test func closingIsBounded() async throws {
        let broker = try await MosquittoProcess.start()
        try await TestClient.with("hurried", broker) { client in
            try await client.connected()
            broker.freeze()
            let clock = ContinuousClock()
            let start = clock.now
            client.transport.send([.publish(OutgoingMessage("m", "x"), 1), .close(within: .milliseconds(200))])
            let end = try await client.disconnection()
            #expect(end.retry == nil)
            let took = start.duration(to: clock.now)
            #expect(took >= .milliseconds(200) && took < .seconds(60))
            broker.thaw()
        }
    }

    @Test func closingWhileThereIsNoConnectionEndsAtOnce() async throws {
        let configuration = try TestClient.configuration("lonely", port: LoopbackPort.free())
        try await TestClient.with(configuration) { client in
            try await client.disconnection()
            client.transport.send([.close(within: .seconds(60))])
            try await client.disconnection { $0.retry == nil && $0.reason == nil }
        }
    }

    @Test func closingBeforeRunningEndsTheClient() async throws {
        let configuration = try TestClient.configuration("never", port: LoopbackPort.free())
        let transport = try MQTTTransport(configuration: configuration)
        transport.send([.close(within: .seconds(1))])
        await transport.run()
        var events = transport.events.makeAsyncIterator()
        var all: [TransportEvent] = []
        while let batch = await events.next() { all += batch }
        #expect(all.last == .disconnected(Disconnection(reason: nil, retry: nil, lasted: nil)))
    }

    /// A cancelled client has published no goodbye, so its will is sent.
    @Test func cancellingSendsTheWill() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("cancelled", port: broker.port)
        configuration.will = { _ in OutgoingMessage("will", "x") }
        let transport = try MQTTTransport(configuration: configuration)
        try await TestClient.with("watcher", broker) { watcher in
            try await watcher.connected()
            try await watcher.subscribe(["#"])
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await transport.run() }
                for await batch in transport.events where batch.contains(where: { $0.isConnected(0) }) { break }
                group.cancelAll()
            }
            var last: TransportEvent?
            for await batch in transport.events { last = batch.last }
            #expect(last?.disconnection?.retry == nil)
            #expect(last?.disconnection?.reason == nil)
            _ = try await watcher.publish([OutgoingMessage("last", "x")])
            let messages = try await watcher.messages(2)
            #expect(messages.map(\.topic).contains("will"))
        }
    }

    @Test func aPersistentSessionIsResumed() async throws {
        let broker = try await MosquittoProcess.start()
        for version in [ConnectionStateMachine.Version.v5, .v311] {
            var configuration = try TestClient.configuration("kept-\(version)", port: broker.port, version: version)
            configuration.session = .kept(for: .seconds(3_600))
            try await TestClient.with(configuration) { client in
                try await client.connected()
                try await client.subscribe(["kept"])
                client.transport.send([.close(within: .seconds(1))])
                try await client.disconnection()
            }
            try await TestClient.with("sender", broker) { sender in
                try await sender.connected()
                _ = try await sender.publish([OutgoingMessage("kept", "while away")])
            }
            try await TestClient.with(configuration) { client in
                let messages = try await client.messages(1)
                #expect(messages.map(\.text) == ["while away"])
                #expect(client.log.elements.first == .connected(connection: 0, sessionPresent: true))
            }
        }
    }
}
