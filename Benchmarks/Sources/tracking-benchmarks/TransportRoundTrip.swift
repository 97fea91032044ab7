import BenchmarkSupport
import TrackingCore
import TrackingMQTT

/// One MQTT transport publishes a message each millisecond, and another receives it. Returns the time of each message
/// in microseconds.
///
/// - Parameter executor: The executor of the publishing and the receiving task; `nil` for the threads of the pool.
func transportRoundTrip(
    _ count: Int, _ payload: [UInt8], on executor: (any TaskExecutor)?
) async throws -> [Double] {
    let publisher = try makeTransport(try ClientID("benchmark-publisher"))
    let watcher = try makeTransport(try ClientID("benchmark-watcher"))
    return await withTaskExecutorPreference(executor) {
        await goRound(count, payload, from: publisher, to: watcher)
    }
}

@concurrent
private func goRound(
    _ count: Int, _ payload: [UInt8], from publisher: MQTTTransport, to watcher: MQTTTransport
) async -> [Double] {
    await withTaskGroup(of: Void.self) { group in
        group.addTask { await publisher.run() }
        group.addTask { await watcher.run() }
        var sending = publisher.events.makeAsyncIterator()
        _ = await sending.next()
        group.addTask { for await _ in publisher.events {} }
        let sent = Stamps(count)
        var latencies: [Double] = []
        for await batch in watcher.events {
            let now = secondsNow()
            for event in batch {
                switch event {
                case .connected: watcher.send([.subscribe(["benchmark/round-trip"], 1)])
                case .subscribed: group.addTask { await publish(payload, count, on: publisher, stamps: sent) }
                case .received: latencies.append((now - sent[latencies.count]) * 1e6)
                case .published, .disconnected: break
                }
            }
            if latencies.count == count {
                for transport in [publisher, watcher] { transport.send([.close(within: .seconds(1))]) }
                break
            }
        }
        // The connections close in order once their events are read to the end.
        for await _ in watcher.events {}
        await group.waitForAll()
        return latencies
    }
}

private func publish(_ payload: [UInt8], _ count: Int, on transport: MQTTTransport, stamps: Stamps) async {
    await pace(count, every: 0.001) { index in
        stamps[index] = secondsNow()
        let message = OutgoingMessage(topic: "benchmark/round-trip", payload: payload, isRetained: false)
        transport.send([.publish(message, TransportToken(index))])
    }
}
