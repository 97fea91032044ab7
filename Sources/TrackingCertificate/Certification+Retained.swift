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
        return try await self.with(self.client("publisher")) { publisher in
            for number in 0...1 {
                // Only the newer message of each topic may be delivered.
                let messages = topics.map { OutgoingMessage($0, "\(number)", isRetained: true) }
                guard await !self.retain(messages, by: publisher).contains(false) else {
                    throw publisher.noAnswer("a retained publish")
                }
            }
            let exact = try await self.retainedMessages(topics)
            let wildcard = try await self.retainedMessages([self.topic("retained/+")])
            var elsewhere = CertificateObservation.noSecondAddress
            if self.clusters {
                elsewhere = .amount(try await self.retainedMessages(topics, at: .second), of: topics.count)
            }
            _ = await publisher.publish(
                topics.map { OutgoingMessage($0, "", isRetained: true) }, within: Self.longPatience)
            let left = try await self.retainedMessages(topics, isExpected: false)
            return [
                .amount(exact, of: topics.count), .amount(wildcard, of: topics.count), elsewhere,
                exact == 0 && left == 0 ? .untried("needs retained messages") : .amount(left, of: topics.count),
            ]
        }
    }

    /// Returns the number of topics of which a new client receives the newest retained message, after it subscribed to
    /// the filters.
    ///
    /// - Parameters:
    ///   - filters: The filters to subscribe to.
    ///   - address: The address to which the new client connects.
    ///   - isExpected: `false` if no retained message should arrive, so that the client waits only for a message that
    ///     is published after its subscription.
    private func retainedMessages(
        _ filters: [String], at address: CertificateClient.Address = .first, isExpected: Bool = true
    ) async throws -> Int {
        var settings = try self.client("reader")
        settings.address = address
        let marker = self.topic("marker")
        return try await self.with(settings) { reader in
            for start in stride(from: 0, to: filters.count, by: Self.filtersAtOnce) {
                try await self.subscribe(reader, Array(filters[start..<min(start + Self.filtersAtOnce, filters.count)]))
            }
            if isExpected {
                _ = await reader.gather(Self.retained, pause: self.pause) { $0.isRetained }
            } else {
                try await self.subscribe(reader, [marker])
                _ = await reader.publish([OutgoingMessage(marker, "0")], within: Self.patience)
                await reader.wait(Self.patience) { $0.has(marker) }
            }
            let found = reader.read { $0.messages.filter { $0.isRetained && $0.number == 1 } }
            return Set(found.map(\.topic)).count
        }
    }
}
