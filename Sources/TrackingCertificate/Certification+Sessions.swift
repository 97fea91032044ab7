import TrackingCore

/// The observations of sessions and connections: kept sessions, wills, and client ids.
extension Certification {
    /// The number of messages that are published while a client is absent.
    private static var queued: Int { 2_000 }
    /// The wait for messages that are delivered again. Some brokers begin only some time after the first delivery, such
    /// as NATS after 30 s.
    private static var redelivery: Duration { .seconds(45) }

    func observeSession() async throws -> [CertificateObservation] {
        let delivery = try await self.deliverToAbsent(Self.queued, name: "absent", returningTo: .first)
        return [.delivery(delivery), .delivery(delivery)]
    }

    /// Publishes numbered messages while a client with a kept session is absent, and compares them with those that the
    /// client receives when it returns, without a new subscription.
    func deliverToAbsent(
        _ count: Int, name: String, returningTo address: CertificateClient.Address
    ) async throws -> MessageDelivery {
        let topic = self.topic(name)
        var absent = try self.client(name)
        absent.isKept = true
        try await self.with(absent) { try await self.subscribe($0, [topic]) }
        let accepted = try await self.with(self.client("publisher")) { publisher in
            await publisher.publish(Self.numbered(count, on: topic), within: Self.longPatience)
        }
        absent.address = address
        let received = try await self.with(absent) { returned in
            await returned.gather(accepted.count { $0 }, pause: self.pause) { $0.topic == topic }
        }
        return MessageDelivery(accepted: accepted, received: received.compactMap(\.number))
    }

    func observeRedelivery() async throws -> [CertificateObservation] {
        let count = 10
        let topic = self.topic("redelivery")
        var recorder = try self.client("recorder")
        recorder.isKept = true
        recorder.withholdsAcknowledgements = true
        let client = recorder
        let accepted = try await self.with(client, isCut: true) { recorder in
            try await self.subscribe(recorder, [topic])
            let accepted = try await self.with(self.client("publisher")) { publisher in
                await publisher.publish(Self.numbered(count, on: topic), within: Self.patience)
            }
            _ = await recorder.gather(count, pause: self.pause) { $0.topic == topic }
            return accepted
        }
        let received = try await self.with(client) { recorder in
            let received = await recorder.gather(count, pause: max(self.pause, Self.redelivery)) { $0.topic == topic }
            recorder.acknowledgeAll()
            return received
        }
        return [.delivery(MessageDelivery(accepted: accepted, received: received.compactMap(\.number)))]
    }

    // MARK: - Wills

    func observeWills() async throws -> [CertificateObservation] {
        let topics = ["lost", "closed", "marker"].map { self.topic("will/\($0)") }
        return try await self.with(self.client("witness")) { witness in
            try await self.subscribe(witness, topics)
            try await self.with(self.mortal("lost", will: topics[0]), isCut: true) { _ in }
            let isPublished = await witness.wait(Self.patience) { $0.has(topics[0]) }
            try await self.with(self.mortal("closed", will: topics[1])) { _ in }
            _ = await witness.publish([OutgoingMessage(topics[2], "0")], within: Self.patience)
            await witness.wait(Self.patience) { $0.has(topics[2]) }
            let isSilent = witness.read { !$0.has(topics[1]) }
            return [.answer(isPublished), .answer(isSilent)]
        }
    }

    /// Returns the settings of a client with a will on this topic.
    private func mortal(_ name: String, will topic: String) throws(TrackingError) -> CertificateClient {
        var client = try self.client(name)
        client.will = OutgoingMessage(topic, "0")
        return client
    }

    // MARK: - Client ids

    func observeTakeover(isMQTT5: Bool) async throws -> [CertificateObservation] {
        guard let reason = try await self.takeOver(at: .first) else {
            return [.answer(false), .untried("needs a takeover")]
        }
        let isNamed = CertificateObservation.answer(reason == .takenOver)
        return [.answer(true), isMQTT5 ? isNamed : .untried("needs MQTT 5")]
    }

    /// Connects a second client with the client id of a first one, at this address. Returns the reason that the first
    /// client got for the end of its connection, and `nil` if the connection did not end.
    func takeOver(at address: CertificateClient.Address) async throws -> TrackingError.Code? {
        let first = try self.client("double")
        var second = first
        second.address = address
        let other = second
        return try await self.with(first, isCut: true) { first in
            try await self.with(other, isCut: true) { _ in
                _ = await first.wait(Self.patience) { !$0.losses.isEmpty }
            }
            return first.read { $0.losses.first.map { $0.reason?.code ?? .connectionLost } }
        }
    }
}

extension Probe.State {
    /// Returns `true` if a message on this topic has arrived.
    func has(_ topic: String) -> Bool { self.messages.contains { $0.topic == topic } }
}
