import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// A reader that does not read delays its own broker connection and no other.
@Suite(.timeLimit(.minutes(5))) struct BackPressureTests {
    @Test func aSlowReaderHoldsBackItsOwnConnectionAlone() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("slow", port: broker.port)
        configuration.limits.waitingEvents = 100
        configuration.receiveMaximum = 20
        let slow = try MQTTTransport(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await slow.run() }
            defer { group.cancelAll() }
            var events = slow.events.makeAsyncIterator()
            #expect(await events.next() == [.connected(connection: 0, sessionPresent: false)])
            slow.send([.subscribe(["flood"], 1)])
            #expect(await events.next() == [.subscribed(1, refusals: [nil])])
            try await TestClient.with("fast", broker) { fast in
                try await fast.connected()
                try await fast.subscribe(["flood"])
                let messages = (0..<20_000).map { OutgoingMessage("flood", "\($0)") }
                let refusals = try await fast.publish(messages)
                #expect(refusals.allSatisfy { $0 == nil })
                // The other connection of the same loop received everything while this one was not read.
                #expect(try await fast.messages(20_000).count == 20_000)
            }
            var received: [String] = []
            var largest = 0
            while received.count < 20_000, let batch = await events.next() {
                largest = max(largest, batch.count)
                received += batch.compactMap(\.message?.text)
            }
            #expect(received == (0..<20_000).map(String.init), "nothing is lost")
            #expect(largest <= 100 + 600, "no more than the limit and one pass waits")
        }
    }

    /// The broker is killed while received messages are not read. The next connection is established nevertheless.
    @Test func aClientUnderBackPressureConnectsAgain() async throws {
        let broker = try await MosquittoProcess.start()
        var configuration = try TestClient.configuration("slow", port: broker.port)
        configuration.limits.waitingEvents = 10
        configuration.keepAlive = .seconds(5)
        let slow = try MQTTTransport(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await slow.run() }
            defer { group.cancelAll() }
            var events = slow.events.makeAsyncIterator()
            #expect(await events.next() == [.connected(connection: 0, sessionPresent: false)])
            slow.send([.subscribe(["flood"], 1)])
            #expect(await events.next() == [.subscribed(1, refusals: [nil])])
            try await TestClient.with("fast", broker) { fast in
                try await fast.connected()
                _ = try await fast.publish((0..<1000).map { OutgoingMessage("flood", "\($0)") })
            }
            let pings = broker.log.components(separatedBy: "Received PINGREQ from slow").count - 1
            try await broker.kill()
            try await broker.restart()
            // Only an accepted connection sends pings.
            try await broker.waitForLog("Received PINGREQ from slow", count: pings + 1)
            var lost: [Disconnection] = []
            reading: while let batch = await events.next() {
                for event in batch {
                    if case .connected(1, _, _) = event { break reading }
                    if let disconnection = event.disconnection { lost.append(disconnection) }
                }
            }
            #expect(!lost.contains { $0.reason?.message.contains("did not answer") ?? false }, "\(lost)")
        }
    }

    @Test func aCancelledReaderLosesNothing() async throws {
        let broker = try await MosquittoProcess.start()
        let transport = try MQTTTransport(configuration: TestClient.configuration("patient", port: broker.port))
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await transport.run() }
            defer { group.cancelAll() }
            await withTaskGroup(of: Void.self) { readers in
                readers.addTask { for await batch in transport.events where batch.isEmpty {} }
                readers.cancelAll()
            }
            var events = transport.events.makeAsyncIterator()
            transport.send([.close(within: .seconds(1))])
            var all: [TransportEvent] = []
            while let batch = await events.next() { all += batch }
            #expect(all.last?.disconnection?.retry == nil)
        }
    }
}
