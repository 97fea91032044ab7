import Synchronization
import TestSupport
import TrackingCore
import TrackingMQTT

/// A recorder for one trackable that keeps the records of both lanes in memory, and acknowledges them if it has a name.
final class TestRecorder: Sendable {
    /// A record's name.
    struct Name: Hashable, Comparable, CustomStringConvertible {
        var stream: StreamID
        var seq: UInt64
        var description: String { "\(self.stream)/\(self.seq)" }
        static func < (left: Self, right: Self) -> Bool {
            (left.stream.rawValue, left.seq) < (right.stream.rawValue, right.seq)
        }
    }

    /// The records and their order of arrival.
    struct Store {
        /// The contents of each record, one for each arrival.
        var records: [Name: [[UInt8]]] = [:]
        /// The numbers that arrived, were declared gone, or are below the oldest.
        var handled: [StreamID: SeqSet] = [:]
        /// The highest number of each stream that has ended.
        var ends: [StreamID: UInt64] = [:]
        /// Each location message and batch, in order of arrival: the number of its newest record.
        var arrivals: [(isLive: Bool, newest: UInt64)] = []
        var batches: [HistoryBatch] = []
        var isListening = false
        /// The streams, ordered by their latest record.
        var streams: [StreamID] = []

        mutating func saw(_ stream: StreamID) {
            self.streams.removeAll { $0 == stream }
            self.streams.append(stream)
        }
    }

    private let transport: MQTTTransport
    private let trackable: TrackableID
    private let acknowledges: ClientID?
    private let store = Mutex(Store())

    init(of trackable: String, on broker: MosquittoProcess, acknowledgingAs name: String? = nil) throws {
        self.trackable = try TrackableID(trackable)
        self.acknowledges = try name.map { try ClientID($0) }
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: broker.port)], client: try ClientID(name ?? "recorder"))
        configuration.firstWait = .milliseconds(20)
        configuration.longestWait = .milliseconds(100)
        self.transport = try MQTTTransport(configuration: configuration)
    }

    /// The records so far.
    var contents: Store { self.store.withLock { $0 } }

    /// Runs until cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.transport.run() }
            for await events in self.transport.events {
                for event in events { self.happened(event) }
            }
        }
    }

    private func happened(_ event: TransportEvent) {
        switch event {
        case .connected:
            let topics: [Topic] = [.location(self.trackable), .history(self.trackable)]
            let paths =
                topics.map { TopicRoot.standard.path($0) } + ["tracking/\(self.trackable.topicLevel)/publisher/+"]
            self.transport.send([.subscribe(paths, 1)])
        case .received(let message): self.received(message)
        case .subscribed: self.store.withLock { $0.isListening = true }
        case .disconnected, .published: break
        }
    }

    private func received(_ message: IncomingMessage) {
        guard !message.payload.isEmpty, let topic = TopicRoot.standard.topic(message.topic) else { return }
        switch topic {
        case .location:
            guard !message.isRetained, let update = try? LocationCodec.decode(message.payload) else { return }
            self.take(update)
        case .history:
            guard let batch = try? HistoryCodec.decode(message.payload).batch else { return }
            self.take(batch)
        default: break  // a new publisher needs the acknowledgement again
        }
        self.acknowledge()
    }

    private func take(_ update: LocationUpdate) {
        self.store.withLock { store in
            for point in update.skipped + [update.location] {
                guard let stream = point.stream, let seq = point.seq else { continue }
                let bytes = LocationCodec.encodeFeature(point, inheriting: stream)
                store.records[Name(stream: stream, seq: seq), default: []].append(bytes)
                store.handled[stream, default: SeqSet()].insert(seq)
            }
            store.arrivals.append((true, update.location.seq ?? 0))
            if let stream = update.location.stream { store.saw(stream) }
        }
    }

    private func take(_ batch: HistoryBatch) {
        self.store.withLock { store in
            for record in batch.records {
                store.records[Name(stream: batch.stream, seq: record.seq), default: []].append(record.payload)
                store.handled[batch.stream, default: SeqSet()].insert(record.seq)
            }
            if batch.oldest > 1 { store.handled[batch.stream, default: SeqSet()].insert(1...(batch.oldest - 1)) }
            for range in batch.gone { store.handled[batch.stream, default: SeqSet()].insert(range) }
            if let end = batch.end { store.ends[batch.stream] = end }
            store.arrivals.append((false, batch.records.last?.seq ?? 0))
            store.batches.append(batch)
            store.saw(batch.stream)
        }
    }

    private func acknowledge() {
        guard let name = self.acknowledges else { return }
        let streams = self.store.withLock { store in
            let last = Set(store.streams.suffix(Acknowledgement.maximumStreams))
            return store.handled.filter { last.contains($0.key) }.compactMapValues { seqs in
                seqs.ranges.first.flatMap { $0.lowerBound <= 1 ? $0.upperBound : nil }
            }
        }
        let payload = HistoryCodec.encode(Acknowledgement(streams: streams))
        let topic = TopicRoot.standard.path(.ack(self.trackable, name))
        self.transport.send([.publish(OutgoingMessage(topic: topic, payload: payload, isRetained: true), 2)])
    }

    /// Waits until every message from now on is received.
    func waitUntilListening() async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !self.contents.isListening {
            guard ContinuousClock.now < deadline else { throw TestSupportError("the recorder is not listening") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits until all of `names` have arrived.
    ///
    /// - Throws: `TestSupportError` that names every missing record.
    func wait(for names: Set<Name>, within limit: Duration) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            let missing = self.store.withLock { store in names.filter { store.records[$0] == nil } }
            if missing.isEmpty { return }
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("missing at the recorder: \(missing.sorted())")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until the contents fulfil a condition.
    ///
    /// - Parameter awaited: The awaited condition in words, for the error.
    /// - Throws: `TestSupportError` after a minute.
    func wait(for awaited: String, until isFulfilled: (Store) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !isFulfilled(self.contents) {
            guard ContinuousClock.now < deadline else { throw TestSupportError("not at the recorder: \(awaited)") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
