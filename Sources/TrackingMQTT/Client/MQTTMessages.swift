import CMosquitto
package import TrackingCore

/// The messages of one subscription of an ``MQTTClient``. Only one task may read them. The sequence ends when the
/// subscription or the client ends, or when the task is cancelled. It throws when the broker refuses to restore the
/// subscription after a lost connection.
package struct MQTTMessages: AsyncSequence, Sendable {
    /// An iterator over the messages of a subscription. Each message is returned by one iterator only.
    package struct AsyncIterator: AsyncIteratorProtocol {
        let client: MQTTClient
        let id: TransportToken
        private var batch: ArraySlice<IncomingMessage> = []

        init(client: MQTTClient, id: TransportToken) {
            self.client = client
            self.id = id
        }

        /// Returns the next message of the subscription, and waits until there is one. Returns `nil` when the
        /// subscription or the client has ended, or when the task is cancelled. A cancellation loses no message.
        package mutating func next() async throws(TrackingError) -> IncomingMessage? {
            if let message = self.batch.popFirst() { return message }
            guard let batch = try await self.client.messages(of: self.id) else { return nil }
            self.batch = batch[...]
            return self.batch.popFirst()
        }

        /// Returns the next message of the subscription, and waits until there is one. Returns `nil` when the
        /// subscription or the client has ended, or when the task is cancelled. A cancellation loses no message.
        package mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(TrackingError) -> IncomingMessage? {
            if let message = self.batch.popFirst() { return message }
            guard let batch = try await self.client.messages(of: self.id) else { return nil }
            self.batch = batch[...]
            return self.batch.popFirst()
        }
    }

    let client: MQTTClient
    let id: TransportToken

    /// Creates an iterator over the messages of the subscription. Only one task may read messages at a time.
    package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(client: self.client, id: self.id) }
}

/// The messages that were received for one subscription and not yet read by the program.
struct MessageInbox {
    let filters: [String]
    /// The filters that decide whether a message belongs to the subscription. For a filter of a shared subscription,
    /// `$share/GROUP/FILTER`, only the part `FILTER` is compared with topics.
    private let patterns: [String]
    var messages: [IncomingMessage] = []
    var bytes = 0
    /// `true` once the broker has granted the subscription. The client subscribes again only to granted subscriptions
    /// after a lost connection.
    var isGranted = false
    var isEnded = false
    var failure: TrackingError?
    var waiter: CheckedContinuation<Void, Never>?

    init(filters: [String]) {
        self.filters = filters
        self.patterns = filters.map { filter in
            guard filter.hasPrefix("$share/") else { return filter }
            return filter.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last.map(String.init)
                ?? filter
        }
    }

    func matches(_ topic: String) -> Bool {
        self.patterns.contains { pattern in
            var isMatch = false
            let code = mosquitto_topic_matches_sub(pattern, topic, &isMatch)
            return code == MOSQ_ERR_SUCCESS.rawValue && isMatch
        }
    }

    mutating func append(_ message: IncomingMessage) {
        self.messages.append(message)
        self.bytes += message.payload.count
        self.wake()
    }

    mutating func take() -> [IncomingMessage] {
        defer { (self.messages, self.bytes) = ([], 0) }
        return self.messages
    }

    mutating func fail(_ error: TrackingError) {
        self.failure = error
        self.wake()
    }

    mutating func end() {
        self.isEnded = true
        self.wake()
    }

    mutating func wake() {
        self.waiter?.resume()
        self.waiter = nil
    }
}
