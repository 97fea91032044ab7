import TrackingCore

/// The observations of messages: order and loss, shared subscriptions, properties, limits.
extension Certification {
    /// The number of messages by which lost acknowledged messages and a wrong order are found.
    private static var deliveries: Int { 3_000 }

    func observeDelivery() async throws -> [CertificateObservation] {
        let delivery = try await self.deliver(
            Self.deliveries, on: "order", from: self.client("publisher"), to: self.client("reader"))
        return [.delivery(delivery), .delivery(delivery)]
    }

    /// Publishes numbered messages on one topic, and compares them with those that another client receives.
    func deliver(
        _ count: Int, on level: String, from publisher: CertificateClient, to reader: CertificateClient
    ) async throws -> MessageDelivery {
        let topic = self.topic(level)
        return try await self.with(reader) { reader in
            try await self.subscribe(reader, [topic])
            let accepted = try await self.with(publisher) { publisher in
                await publisher.publish(Self.numbered(count, on: topic), within: Self.longPatience)
            }
            let received = await reader.gather(accepted.count { $0 }, pause: self.pause) { $0.topic == topic }
            return MessageDelivery(accepted: accepted, received: received.compactMap(\.number))
        }
    }

    static func numbered(_ count: Int, on topic: String) -> [OutgoingMessage] {
        (0..<count).map { OutgoingMessage(topic, "\($0)") }
    }

    /// Subscribes to filters that the broker must grant.
    ///
    /// - Throws: The broker's refusal of a filter, or `connectionLost` without an answer.
    func subscribe(_ probe: Probe<Transport>, _ filters: [String]) async throws(TrackingError) {
        let answers = try await probe.subscribe(filters, within: Self.patience)
        if let refusal = answers.lazy.compactMap({ $0 }).first { throw refusal }
    }

    // MARK: - Shared subscriptions

    func observeShare() async throws -> [CertificateObservation] {
        let count = 100
        let topic = self.topic("share")
        let marker = self.topic("share-marker")
        let filters = ["$share/\(self.run)/\(topic)", marker]
        return try await self.with(self.client("member-1")) { first in
            try await self.with(self.client("member-2")) { second in
                let members = [first, second]
                for member in members { try await self.subscribe(member, filters) }
                let accepted = try await self.with(self.client("publisher")) { publisher in
                    let messages = Self.numbered(count, on: topic) + [OutgoingMessage(marker, "0")]
                    return await publisher.publish(messages, within: Self.longPatience)
                }
                guard !accepted.contains(false) else { throw first.noAnswer("a publish") }
                // Each member receives the marker after its share.
                for member in members { await member.wait(self.pause) { $0.has(marker) } }
                var shares = Self.numbers(on: topic, of: members)
                if Set(shares.joined()).count < count {
                    _ = await first.gather(count, pause: self.pause) { $0.topic == topic }
                    shares = Self.numbers(on: topic, of: members)
                }
                return [
                    .shares(shares.map(\.count), distinct: Set(shares.joined()).count, published: count)
                ]
            }
        }
    }

    /// Returns the numbers of the messages that each client received on a topic.
    private static func numbers(on topic: String, of clients: [Probe<Transport>]) -> [[Int]] {
        clients.map { client in
            client.read { state in state.messages.filter { $0.topic == topic }.compactMap(\.number) }
        }
    }

    // MARK: - Properties

    func observeProperties(isMQTT5: Bool) async throws -> [CertificateObservation] {
        guard isMQTT5 else { return [.untried("needs MQTT 5")] }
        var message = OutgoingMessage(self.topic("properties"), "0")
        message.properties.contentType = "application/json"
        message.properties.responseTopic = self.topic("answer")
        message.properties.correlationData = [0, 1, 255]
        let sent = message
        return try await self.with(self.client("reader")) { reader in
            try await self.subscribe(reader, [sent.topic])
            _ = await reader.publish([sent], within: Self.patience)
            let received = await reader.gather(1, pause: self.pause) { $0.topic == sent.topic }
            return [.answer(received.first?.properties == sent.properties)]
        }
    }

    // MARK: - Limits

    func observePayloads() async throws -> [CertificateObservation] {
        let sizes = [1_024, 4_096, 32_768, WireLimits.maximumPayloadBytes]
        let topic = self.topic("payload")
        let largest = try await self.largest(of: sizes) { size, probe in
            let payload = [UInt8](repeating: UInt8(ascii: "x"), count: size)
            try await self.subscribe(probe, [topic])
            _ = await probe.publish(
                [OutgoingMessage(topic: topic, payload: payload, isRetained: false)], within: Self.patience)
            return await !probe.gather(1, pause: self.pause) { $0.payload.count == size }.isEmpty
        }
        return [.amount(largest, of: WireLimits.maximumPayloadBytes)]
    }

    func observeFilters() async throws -> [CertificateObservation] {
        let most = 200
        let largest = try await self.largest(of: [1, 8, 13, 50, most]) { count, probe in
            let filters = (0..<count).map { self.topic("filters/\($0)") }
            try await self.subscribe(probe, filters)
            _ = await probe.publish([OutgoingMessage(filters[count - 1], "0")], within: Self.patience)
            return await !probe.gather(1, pause: self.pause) { $0.topic == filters[count - 1] }.isEmpty
        }
        return [.amount(largest, of: most)]
    }

    func observeTopics() async throws -> [CertificateObservation] {
        let longest = 700
        let largest = try await self.largest(of: [CertificateCheck.topics.leastAmount ?? 1, 200, 250, longest]) {
            size, probe in
            let topic = self.topic(length: size)
            try await self.subscribe(probe, [topic])
            _ = await probe.publish([OutgoingMessage(topic, "0")], within: Self.patience)
            return await !probe.gather(1, pause: self.pause) { $0.topic == topic }.isEmpty
        }
        return [.amount(largest, of: longest)]
    }

    /// Returns a topic of eight levels with this number of bytes, as a topic root, an id with escapes, and a client id
    /// have it.
    private func topic(length: Int) -> String {
        let start = self.topic("t")
        let missing = 7 - start.count { $0 == "/" }
        let levels = (0..<max(1, missing)).map { _ in "_a-Z=3A" }
        let topic = ([start] + levels).joined(separator: "/")
        return topic + String(repeating: "x", count: max(0, length - topic.utf8.count))
    }

    /// Returns the largest amount with which a test succeeds; 0 if it succeeds with none. The amounts are tried in
    /// order, each with a client of its own, until one fails.
    private func largest(
        of amounts: [Int], _ test: (Int, Probe<Transport>) async throws -> Bool
    ) async throws -> Int {
        var largest = 0
        for amount in amounts {
            do {
                let succeeds = try await self.with(self.client("limit")) { try await test(amount, $0) }
                guard succeeds else { return largest }
            } catch is TrackingError {
                return largest
            }
            largest = amount
        }
        return largest
    }
}
