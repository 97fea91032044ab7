import BenchmarkSupport
import CReference
import TrackingCore
import TrackingMQTT

// The messages are published while the client is not connected. It then connects and receives them while no other
// program of the benchmark has work.

/// The reference: C receives the `count` messages that the broker holds for it, without decoding them.
func referenceReceive(count: Int) async throws -> Cost {
    try await fill("reference-receiver", count: count)
    var cost = reference_cost()
    guard reference_receive(Int32(broker.port), "reference-receiver", count, &cost) == 0 else {
        throw BenchmarkError("the reference in C failed to receive the messages")
    }
    return Cost(seconds: cost.seconds, cpuSeconds: cost.cpu_seconds)
}

/// The measurement: MQTTTransport receives the `count` messages that the broker holds for it, and decodes them.
func receive(count: Int) async throws -> Cost {
    let client = "benchmark-receiver"
    try await fill(client, count: count)
    var settings = try configuration(client)
    settings.session = .kept(for: .seconds(3_600))
    let transport = try MQTTTransport(configuration: settings)
    let start = Cost.soFar
    async let running: Void = transport.run()
    var cost: Cost?
    var decoded = 0
    var sum: UInt64 = 0
    for await batch in transport.events {
        for event in batch {
            switch event {
            case .received(let message):
                sum += try LocationCodec.decode(message.payload).location.seq ?? 0
                decoded += 1
            case .disconnected(let disconnection): if cost == nil { throw lost(disconnection) }
            case .connected, .published, .subscribed: break
            }
        }
        if decoded == count, cost == nil {
            cost = .soFar - start
            transport.send([.close(within: .seconds(1))])
        }
    }
    await running
    guard let cost, sum == UInt64(count) * UInt64(count + 1) / 2 else {
        throw BenchmarkError("not every message was received once")
    }
    return cost
}

/// Creates a session at the broker for the client, and publishes `count` location updates into it.
private func fill(_ client: String, count: Int) async throws {
    let topic = TopicRoot.standard.path(.location(try TrackableID(client)))
    guard reference_leave_subscribed(Int32(broker.port), client, topic) == 0 else {
        throw BenchmarkError("the session of \(client) could not be made")
    }
    _ = try await publish(count: count) { number in
        let update = LocationUpdate(location: sampleLocation(seq: UInt64(number + 1)))
        return OutgoingMessage(topic: topic, payload: try LocationCodec.encode(update), isRetained: false)
    }
}

/// Makes a fix as a receiver reports it: about 300 bytes on the wire.
func sampleLocation(seq: UInt64) -> Location {
    var location = Location(
        coordinate: Coordinate(latitude: 52.629151, longitude: -8.661746)!,  // in range
        time: UnixTime(1_550_475_950.25 + Double(seq)))
    location.altitude = 19.5
    location.accuracyHorizontal = 4.1
    location.bearing = 187.5
    location.speed = 8.2
    location.seq = seq
    location.stream = StreamID("k3f9q2wz")
    location.source = .gps
    return location
}
