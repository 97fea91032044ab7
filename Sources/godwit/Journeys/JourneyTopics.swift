import Synchronization
import TrackingCore
import TrackingMQTT

/// A trackable's journey and estimate, as the broker retains them.
struct RetainedJourney: Sendable {
    var journey: Journey?
    var estimate: Estimate?

    /// This value; `nil` without a journey.
    var withJourney: Self? { self.journey == nil ? nil : self }
}

/// The topics of journeys and estimates at a broker.
struct JourneyTopics: Sendable {
    let client: MQTTClient
    let root: TopicRoot

    /// The time without a further retained message after which all of them have arrived.
    private static let patience = Duration.milliseconds(500)

    /// Publishes a journey, or clears it with an empty payload, and waits for the broker's acknowledgement.
    ///
    /// A broker with MQTT 3.1.1 acknowledges a publish that it rejects. The journey is then read back.
    ///
    /// - Throws: The broker's refusal, or the reason why the broker cannot be reached.
    func publish(_ payload: [UInt8], of id: TrackableID) async throws {
        let message = OutgoingMessage(topic: self.root.path(.journey(id)), payload: payload, isRetained: true)
        try await self.connected {
            _ = try await self.client.publish(message)
            guard !self.client.reportsRefusedPublishes else { return }
            let retained = try await self.retained(on: [message.topic]) { _ in true }
            guard retained[message.topic] ?? [] == payload else {
                throw TrackingError(
                    .notAuthorized,
                    "the broker did not store the journey of \(id.rawValue.printable): this user may not write or read \(message.topic). broker/add-operator makes a user that may"
                )
            }
        }
    }

    /// Reads the retained journeys and estimates.
    ///
    /// - Parameter ids: The trackables; `nil` for all.
    /// - Throws: The broker's refusal, or the reason why the broker cannot be reached.
    func read(_ ids: [TrackableID]?) async throws -> [TrackableID: RetainedJourney] {
        let filters =
            ids?.flatMap { [self.root.path(.journey($0)), self.root.path(.estimate($0))] }
            ?? [self.root.path(TopicFilter.everyJourney), self.root.path(TopicFilter.everyEstimate)]
        let messages = try await self.connected {
            try await self.retained(on: filters) { found in ids != nil && found.count == filters.count }
        }
        var journeys: [TrackableID: RetainedJourney] = [:]
        for (topic, payload) in messages {
            switch self.root.topic(topic) {
            case .journey(let id):
                journeys[id, default: RetainedJourney()].journey = try? MessageCodec.decodeJourney(payload)
            case .estimate(let id):
                journeys[id, default: RetainedJourney()].estimate = try? MessageCodec.decodeEstimate(payload)
            default: break
            }
        }
        return journeys
    }

    private func connected<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.client.run() }
            defer { group.cancelAll() }
            let value = try await body()
            await self.client.close(within: .seconds(2))
            try await group.next()
            return value
        }
    }

    /// Returns the payloads of the retained messages by topic. Waits until `isComplete` returns `true`, or until no
    /// message has arrived for ``patience``.
    private func retained(
        on filters: [String], until isComplete: @escaping @Sendable ([String: [UInt8]]) -> Bool
    ) async throws -> [String: [UInt8]] {
        let found = Mutex<[String: [UInt8]]>([:])
        try await self.client.withSubscription(to: filters) { messages in
            try await Race.run {
                for try await message in messages where message.isRetained && !message.payload.isEmpty {
                    let isLast = found.withLock { found in
                        found[message.topic] = Array(message.payload)
                        return isComplete(found)
                    }
                    if isLast { return }
                }
            } or: {
                var count = -1
                while found.withLock({ $0.count }) != count {
                    count = found.withLock { $0.count }
                    try await Task.sleep(for: Self.patience)
                }
            }
        }
        return found.withLock { $0 }
    }
}
