import TrackingCore

/// The observations of retained messages.
extension Certification {
    /// The number of topics with a retained message.
    private static var retained: Int { 20 }
    /// The number of filters in one subscription. It is small, because some brokers limit it.
    private static var filtersAtOnce: Int { 5 }

    /// Returns the observations for exact topics, for a wildcard, at the second address, and after the removal.
    func observeRetained() async throws -> [CertificateObservation] {
        let topics = (0..<Self.retained).map { self.topic("retained/\($0)") }
        let pattern = self.topic("retained/+")
        return try await self.with(self.client("publisher")) { publisher in
            for number in 0...1 {
                // Only the newer message of each topic may be delivered.
                let messages = topics.map { OutgoingMessage($0, "\(number)", isRetained: true) }
                if let reason = await self.retain(messages, by: publisher) { return self.refusedRetained(reason) }
            }
            let exact = try await self.retainedMessages(topics)
            let wildcard = try await self.retainedMessages([pattern])
            var elsewhere: Int?
            if self.clusters { elsewhere = try await self.retainedMessages(topics, at: .second) }
            _ = await publisher.publish(
                topics.map { OutgoingMessage($0, "", isRetained: true) }, within: Self.longPatience)
            var readings = [
                Reading(filters: exact > 0 ? topics : [pattern], address: .first, delivered: max(exact, wildcard))
            ]
            if let elsewhere { readings.append(Reading(filters: topics, address: .second, delivered: elsewhere)) }
            let clearing = await self.observeClearing(readings)
            return [
                .amount(exact, of: topics.count), .amount(wildcard, of: topics.count),
                elsewhere.map { CertificateObservation.amount($0, of: topics.count) } ?? .noSecondAddress, clearing,
            ]
        }
    }

    /// Returns the observations at a broker that did not accept retained messages. Nothing could be cleared.
    private func refusedRetained(_ reason: TrackingError) -> [CertificateObservation] {
        let refusal = CertificateObservation.error(reason.message)
        return [
            refusal, refusal, self.clusters ? refusal : .noSecondAddress, .untried("needs retained messages"),
        ]
    }

    /// A way in which a new client reads the retained messages.
    private struct Reading {
        /// The filters to subscribe to.
        let filters: [String]
        /// The address to which the new client connects.
        let address: CertificateClient.Address
        /// The number of retained messages that the broker delivered in this way before they were removed.
        let delivered: Int
    }

    /// Subscribes as a new client after the retained messages were removed, once for each reading, and counts the
    /// messages that the broker still delivers.
    ///
    /// - Parameter readings: The filters and addresses with which to subscribe.
    /// - Returns: The largest count of one reading; "not tried" if no reading found messages before the removal, and
    ///   none does now.
    private func observeClearing(_ readings: [Reading]) async -> CertificateObservation {
        var left = 0
        do {
            for reading in readings { left = max(left, try await self.leftMessages(reading)) }
        } catch {
            return .error((error as? TrackingError)?.message ?? "\(error)")
        }
        if left > 0 { self.noteFailedRemoval() }
        let isTried = left > 0 || readings.contains { $0.delivered > 0 }
        return isTried ? .amount(left, of: Self.retained) : .untried("needs retained messages")
    }

    /// Returns the number of topics of which a new client receives the newest retained message, after it subscribed to
    /// the filters.
    private func retainedMessages(
        _ filters: [String], at address: CertificateClient.Address = .first
    ) async throws -> Int {
        try await self.reading(filters, at: address) { reader in
            let found = await reader.gather(Self.retained, pause: self.pause) { $0.isRetained && $0.number == 1 }
            return Set(found.map(\.topic)).count
        }
    }

    /// Returns the number of topics of which a new client still receives a retained message.
    ///
    /// - Throws: `connectionLost` if not even a new message arrives, so that missing messages are no evidence.
    private func leftMessages(_ reading: Reading) async throws -> Int {
        let marker = self.topic("marker")
        return try await self.reading(reading.filters, at: reading.address) { reader in
            try await self.subscribe(reader, [marker])
            try await reader.require(OutgoingMessage(marker, "0"), within: Self.patience)
            guard await reader.wait(Self.patience, for: { $0.has(marker) }) else { throw reader.noAnswer("a marker") }
            if reading.delivered > 0 {
                // A broker may deliver retained messages after the marker.
                _ = await reader.gather(Self.retained, pause: self.pause) { $0.isRetained && $0.number != nil }
            }
            let found = reader.read { $0.messages.filter { $0.isRetained && $0.number != nil } }
            return Set(found.map(\.topic)).count
        }
    }

    /// Runs a new client that has subscribed to the filters, in several packets.
    private func reading(
        _ filters: [String], at address: CertificateClient.Address, _ body: (Probe<Transport>) async throws -> Int
    ) async throws -> Int {
        var settings = try self.client("reader")
        settings.address = address
        return try await self.with(settings) { reader in
            for start in stride(from: 0, to: filters.count, by: Self.filtersAtOnce) {
                try await self.subscribe(reader, Array(filters[start..<min(start + Self.filtersAtOnce, filters.count)]))
            }
            return try await body(reader)
        }
    }
}
