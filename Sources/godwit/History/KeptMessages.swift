import Synchronization
import TrackingCore
import TrackingMQTT

/// The messages that a broker retains for one trackable and that an erasure clears. Presences, requests and
/// acknowledgements are not among them, because they belong to the clients that published them.
struct KeptMessages {
    /// The result of clearing the retained messages of one trackable at the broker: the number of cleared topics, and
    /// the topics whose clearing is not proven.
    struct Outcome: Equatable {
        /// The number of topics whose retained messages this program cleared with a proof that they were cleared.
        var cleared: Int
        /// One sentence for each topic whose clearing is not proven, with the reason.
        var remains: [String]

        /// Creates the result of clearing retained messages from the evidence that was collected.
        ///
        /// - Parameters:
        ///   - proof: The evidence for each topic.
        ///   - topics: The topics that this program cleared.
        ///   - reportsRefusals: `true` if the broker reports each rejected publish, as with MQTT 5.
        init(_ proof: ClearingProof, cleared topics: [String], reportsRefusals: Bool) {
            let remains = proof.remains(reportsRefusals: reportsRefusals)
            self.cleared = topics.count { topic in !remains.contains { $0.topic == topic } }
            self.remains = remains.map { "\($0.topic) at the broker: \($0.reason)" }
        }
    }

    private let before: UnixTime?
    private let topics: [String]
    /// The topics of positions: those that the device sent, and those on the road.
    private let positions: [String]
    private let trip: String
    private let raw: String

    /// The longest wait for messages from the broker after the broker has answered a subscription or a publish.
    private static let patience = Duration.seconds(1)

    /// Creates the list of topics on which a broker may retain messages of one trackable.
    ///
    /// - Parameters:
    ///   - id: The trackable whose retained messages are to be cleared.
    ///   - before: The time before which messages are cleared; `nil` clears all messages.
    ///   - root: The first levels of every topic.
    init(of id: TrackableID, before: UnixTime?, root: TopicRoot) {
        self.before = before
        self.positions = [root.path(.location(id)), root.path(.enhanced(id))]
        self.trip = root.path(.trip(id))
        self.raw = root.path(.raw(id))
        self.topics = [
            .location(id), .enhanced(id), .journey(id), .estimate(id), .trip(id), .resolution(id), .raw(id), .event(id),
            .history(id),
        ].map { (topic: Topic) in root.path(topic) }
    }

    /// Returns `true` if the retained message of a topic must be cleared.
    ///
    /// Without a time limit, every message must be cleared. With a limit, only two kinds of messages must be: a
    /// position message, as the device sent it or on the road, with any position from before the limit, and a trip that
    /// started before the limit. One of these
    /// kinds that cannot be decoded is cleared as well.
    func isErased(_ topic: String, _ payload: ArraySlice<UInt8>) -> Bool {
        guard let before = self.before else { return true }
        switch topic {
        case _ where self.positions.contains(topic):
            guard let update = try? LocationCodec.decode(payload) else { return true }
            return ([update.location] + update.skipped + update.intermediate).contains { $0.time < before }
        case self.trip:
            guard let trip = try? MessageCodec.decodeTrip(payload) else { return true }
            return trip.start < before
        default: return false
        }
    }

    /// Clears the trackable's retained messages at the broker.
    ///
    /// Without a time limit, every topic is cleared without reading it first, because the user may have the right to
    /// write and not to read. With a time limit, only older messages are cleared.
    ///
    /// - Throws: The reason why the broker cannot be reached.
    func clear(with client: MQTTClient) async throws(TrackingError) -> Outcome {
        do {
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await client.run() }
                defer { group.cancelAll() }
                let outcome = try await self.before == nil ? self.clearAll(with: client) : self.clearOlder(with: client)
                await client.close(within: .seconds(2))
                try await group.next()
                return outcome
            }
        } catch let error as TrackingError {
            throw error
        } catch {
            throw TrackingError(.connectionLost, "\(error)")
        }
    }

    private func clearAll(with client: MQTTClient) async throws -> Outcome {
        let proof = try await self.clear(ClearingProof(of: self.topics), self.topics, with: client)
        return Outcome(proof, cleared: self.topics, reportsRefusals: client.reportsRefusedPublishes)
    }

    /// Clears the trackable's retained position messages and retained trip, each only if it contains data from before
    /// the time `before`. First reads the messages, because their times decide. If it receives nothing on a topic, it
    /// checks if this user may read the topic.
    private func clearOlder(with client: MQTTClient) async throws -> Outcome {
        let found = try await self.retained(with: client)
        let due = self.topics.filter { found[$0] == true }
        let unread = (self.positions + [self.trip]).filter { found[$0] == nil }
        var proof = ClearingProof(of: due + unread)
        // Rights are granted for all topics of a trackable together. Every subscriber ignores an empty message on the
        // topic `raw`.
        let isReader = unread.isEmpty ? true : try await self.readsBack(self.raw, with: client)
        for topic in unread { if isReader { proof.wasReadBack(topic) } else { proof.isUnreadable(topic) } }
        if !due.isEmpty { proof = try await self.clear(proof, due, with: client) }
        return Outcome(proof, cleared: due, reportsRefusals: client.reportsRefusedPublishes)
    }

    /// Publishes an empty retained message on each topic, which clears the topic, and adds the evidence of success or
    /// failure to `proof`.
    private func clear(
        _ proof: ClearingProof, _ topics: [String], with client: MQTTClient
    ) async throws -> ClearingProof {
        let shared = Mutex(proof)
        try await client.withSubscription(to: topics) { messages in
            try await Race.run {
                for try await message in messages where !message.isRetained && message.payload.isEmpty {
                    let isComplete = shared.withLock { proof in
                        proof.wasReadBack(message.topic)
                        return proof.isComplete
                    }
                    if isComplete { return }
                }
            } or: {
                for topic in topics {
                    let message = OutgoingMessage(topic: topic, payload: [], isRetained: true)
                    if let refusal = try await Self.refusal(of: message, by: client) {
                        shared.withLock { $0.wasRefused(topic, refusal.message) }
                    }
                }
                guard !shared.withLock({ $0.isComplete }) else { return }
                try await Task.sleep(for: Self.patience)
            }
        }
        let left = try await self.retained(with: client)
        return shared.withLock { proof in
            for topic in topics where left[topic] == true { proof.isRetained(topic) }
            return proof
        }
    }

    /// Tests if this user may read a topic: publishes an empty message on the topic, and returns `true` if the message
    /// arrives back.
    private func readsBack(_ topic: String, with client: MQTTClient) async throws -> Bool {
        let isRead = Mutex(false)
        try await client.withSubscription(to: [topic]) { messages in
            try await Race.run {
                for try await message in messages where !message.isRetained && message.payload.isEmpty {
                    return isRead.withLock { $0 = true }
                }
            } or: {
                let message = OutgoingMessage(topic: topic, payload: [], isRetained: false)
                if try await Self.refusal(of: message, by: client) != nil { return }
                try await Task.sleep(for: Self.patience)
            }
        }
        return isRead.withLock { $0 }
    }

    /// Publishes a message and waits for the broker's answer.
    ///
    /// - Returns: The reason if the broker rejected the message; `nil` if it accepted the message.
    private static func refusal(
        of message: OutgoingMessage, by client: MQTTClient
    ) async throws(TrackingError) -> TrackingError? {
        do throws(TrackingError) {
            try await client.publish(message)
            return nil
        } catch  where error.reasonCode != nil && [.notAuthorized, .refused].contains(error.code) {
            return error
        }
    }

    /// Reads the trackable's retained messages. Returns the topics that have one, each with `true` if the message must
    /// be cleared.
    private func retained(with client: MQTTClient) async throws -> [String: Bool] {
        let found = Mutex<[String: Bool]>([:])
        try await client.withSubscription(to: self.topics) { messages in
            try await Race.run {
                for try await message in messages where message.isRetained && !message.payload.isEmpty {
                    let isErased = self.isErased(message.topic, message.payload)
                    found.withLock { $0[message.topic] = isErased }
                }
            } or: {
                try await Task.sleep(for: Self.patience)
            }
        }
        return found.withLock { $0 }
    }
}
