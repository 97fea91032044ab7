import BenchmarkSupport
import TrackingCore
import TrackingMQTT
import TrackingSubscriber

/// The results of the measurement: the latencies of the fast reader in each round, in microseconds, and the memory of
/// the slow reader in MiB.
struct Readers {
    var alone: [[Double]] = []
    var beside: [[Double]] = []
    var full = 0.0
    var again = 0.0
}

/// Measures two subscribers of one process, on one I/O thread, that watch the same trackable. One reads its event
/// stream. The other does not read, and its stream is filled to its limit before each round.
func slowReaderBesideFastOne(rounds: Int, fixes: Int) async throws -> Readers {
    var readers = Readers()
    for _ in 0..<rounds {
        readers.alone.append(try await roundTrip(fixes, on: nil))
        let (beside, full, again) = try await roundTripBesideSlow(fixes)
        readers.beside.append(beside)
        readers.full = max(readers.full, full)
        readers.again = max(readers.again, again)
    }
    return readers
}

/// The largest number of events that an event stream buffers for a slow reader.
private let streamLimit = 65_536

private func roundTripBesideSlow(_ count: Int) async throws -> (latencies: [Double], full: Double, again: Double) {
    let publisher = try makePublisher(van)
    let watcher = try makeSubscriber("watcher")
    let slow = try makeSubscriber("slow")
    return try await running(publisher, watcher, slow) {
        let before = anonymousMemory()
        // This event stream is kept and never read.
        let unread = slow.events
        slow.watch(van)
        let once = try await flood(slow, streamLimit, round: 1)
        let twice = try await flood(slow, streamLimit, round: 2)
        let updates = watcher.locations(of: van)
        try await bringOnline(publisher, watcher)
        let beside = await latencies(of: count, from: publisher, to: updates)
        return withExtendedLifetime(unread) { (beside, once - before, twice - once) }
    }
}

/// Publishes `count` updates of another trackable that `slow` watches, waits until all were delivered to its event
/// stream, and returns the process's memory then, in MiB.
private func flood(
    _ slow: AssetSubscriber<MQTTTransport>, _ count: Int, round: Int
) async throws -> Double {
    let id = try TrackableID("flood")
    let topic = TopicRoot.standard.path(.location(id))
    let arrivals = slow.locations(of: id)
    slow.watch(id)
    let transport = try makeTransport(try ClientID("flood-box"))
    async let running: Void = transport.run()
    async let arrived: Void = {
        for await received in arrivals where received.update.location.seq == UInt64(round * count) { break }
    }()
    var sent = 0
    var answered = 0
    for await batch in transport.events {
        var room = 0
        for event in batch {
            switch event {
            case .connected: room = 400
            case .published: (answered, room) = (answered + 1, room + 1)
            case .received, .subscribed, .disconnected: break
            }
        }
        let next = min(count, sent + room)
        transport.send(
            try (sent..<next).map { number in
                var location = sampleLocation(0)
                location.seq = UInt64((round - 1) * count + number + 1)
                location.stream = StreamID("flood")
                let payload = try LocationCodec.encode(LocationUpdate(location: location))
                return .publish(
                    OutgoingMessage(topic: topic, payload: payload, isRetained: false), TransportToken(number))
            })
        sent = next
        if answered == count { transport.send([.close(within: .seconds(1))]) }
    }
    await running
    await arrived
    return anonymousMemory()
}

private func anonymousMemory() -> Double { KernelFiles.kibibytes("RssAnon", in: "/proc/self/status") / 1_024 }
