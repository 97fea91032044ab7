import Synchronization
import TrackingCore
import TrackingMQTT

/// What a broker keeps of where a trackable was, for those who come later. Who is present, what is asked for and what was
/// acknowledged is not among it.
struct KeptMessages {
    private let before: UnixTime?
    private let topics: [String]
    private let positions: String
    private let trip: String

    /// How long after the broker's grant what it keeps may take to come.
    private static let patience = Duration.seconds(1)

    /// - Parameter before: Only what is of an earlier time.
    init(of id: TrackableID, before: UnixTime?, root: TopicRoot) {
        self.before = before
        self.positions = root.path(.location(id))
        self.trip = root.path(.trip(id))
        self.topics = [.location(id), .trip(id), .resolution(id), .raw(id), .event(id), .history(id)].map {
            (topic: Topic) in root.path(topic)
        }
    }

    /// Whether a kept message is to go: what cannot be read goes as well.
    func isErased(_ topic: String, _ payload: ArraySlice<UInt8>) -> Bool {
        guard let before = self.before else { return true }
        switch topic {
        case self.positions:
            guard let update = try? LocationCodec.decode(payload) else { return true }
            return ([update.location] + update.skipped + update.intermediate).contains { $0.time < before }
        case self.trip:
            guard let trip = try? MessageCodec.decodeTrip(payload) else { return true }
            return trip.start < before
        default: return false
        }
    }

    /// Clears them. Where all of the trackable is to go, the position is cleared also where the broker keeps none: whoever listens
    /// forgets it then.
    ///
    /// - Returns: How many there were.
    /// - Throws: Why the broker cannot be reached, or what it refused; `notAuthorized` where it keeps some of them still, as
    ///   MQTT 3.1.1 has no word for a refusal.
    func clear(with client: MQTTClient) async throws(TrackingError) -> Int {
        do {
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await client.run() }
                defer { group.cancelAll() }
                let kept = try await self.topics(with: client)
                for topic in kept.union(self.before == nil ? [self.positions] : []) {
                    try await client.publish(OutgoingMessage(topic: topic, payload: [], isRetained: true))
                }
                let left = kept.isEmpty ? [] : try await self.topics(with: client)
                await client.close(within: .seconds(2))
                try await group.next()
                guard left.isEmpty else {
                    throw TrackingError(
                        .notAuthorized,
                        "the broker keeps \(left.count) of \(kept.count) messages still: this user may not clear them, or a device publishes on"
                    )
                }
                return kept.count
            }
        } catch let error as TrackingError {
            throw error
        } catch {
            throw TrackingError(.connectionLost, "\(error)")
        }
    }

    /// The topics on which something is kept that is to go.
    private func topics(with client: MQTTClient) async throws -> Set<String> {
        try await client.withSubscription(to: self.topics) { messages in
            try await withThrowingTaskGroup(of: Set<String>?.self) { group in
                defer { group.cancelAll() }
                let found = Mutex<Set<String>>([])
                group.addTask {
                    for try await message in messages where message.isRetained && !message.payload.isEmpty {
                        guard self.isErased(message.topic, message.payload) else { continue }
                        found.withLock { _ = $0.insert(message.topic) }
                    }
                    return nil
                }
                group.addTask {
                    try await Task.sleep(for: Self.patience)
                    return nil
                }
                _ = try await group.next()
                return found.withLock { $0 }
            }
        }
    }
}
