import BenchmarkSupport
import CReference
import TrackingCore
import TrackingMQTT

/// The number of messages that are passed to the connection ahead of its window, so that the loop never waits for the
/// publisher.
private let ahead = 4 * REFERENCE_SEND_WINDOW

func configuration(_ client: String) throws -> MQTTConfiguration {
    var configuration = MQTTConfiguration(
        endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID(client))
    configuration.sendMaximum = REFERENCE_SEND_WINDOW
    configuration.receiveMaximum = REFERENCE_RECEIVE_WINDOW
    return configuration
}

/// The reference: C publishes `count` messages and waits for every acknowledgement.
func referencePublish(_ payload: [UInt8], count: Int) throws -> Cost {
    var cost = reference_cost()
    guard reference_publish(Int32(broker.port), "benchmark/publish", payload, payload.count, count, &cost) == 0 else {
        throw BenchmarkError("the reference in C failed to publish the messages")
    }
    return Cost(seconds: cost.seconds, cpuSeconds: cost.cpu_seconds)
}

/// The measurement: MQTTTransport publishes `count` messages and waits for every acknowledgement.
func publish(_ payload: [UInt8], count: Int) async throws -> Cost {
    try await publish(count: count) { _ in
        OutgoingMessage(topic: "benchmark/publish", payload: payload, isRetained: false)
    }
}

func publish(count: Int, _ message: @Sendable (Int) throws -> OutgoingMessage) async throws -> Cost {
    let transport = try MQTTTransport(configuration: try configuration("benchmark-publisher"))
    async let running: Void = transport.run()
    var start = Cost.soFar
    var cost: Cost?
    var sent = 0
    var answered = 0
    for await batch in transport.events {
        var room = 0
        for event in batch {
            switch event {
            case .connected:
                start = .soFar
                room = ahead
            case .published(_, nil):
                answered += 1
                room += 1
            case .published(_, let refusal?): throw refusal
            case .disconnected(let disconnection): if cost == nil { throw lost(disconnection) }
            case .received, .subscribed: break
            }
        }
        let next = min(count, sent + room)
        if next > sent {
            transport.send(try (sent..<next).map { .publish(try message($0), TransportToken($0)) })
            sent = next
        }
        if answered == count, cost == nil {
            cost = .soFar - start
            transport.send([.close(within: .seconds(1))])
        }
    }
    await running
    guard let cost else { throw BenchmarkError("not everything was published") }
    return cost
}

func lost(_ disconnection: Disconnection) -> BenchmarkError {
    BenchmarkError("the connection was lost: \(disconnection.reason?.message ?? "no reason")")
}
