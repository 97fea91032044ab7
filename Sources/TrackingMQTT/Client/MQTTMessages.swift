import CMosquitto
public import TrackingCore

/// The messages of one subscription of an ``MQTTClient``, for one task. The sequence ends with the client, and throws
/// when the broker refuses the subscription after a lost connection.
public struct MQTTMessages: AsyncSequence, Sendable {
    /// The position of one task in the messages.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: MQTTClient
        let id: TransportToken
        private var batch: ArraySlice<IncomingMessage> = []

        init(client: MQTTClient, id: TransportToken) {
            self.client = client
            self.id = id
        }

        /// Returns the next message; `nil` at the end or when the task is cancelled, which loses no message.
        public mutating func next() async throws(TrackingError) -> IncomingMessage? {
            if let message = self.batch.popFirst() { return message }
            guard let batch = try await self.client.messages(of: self.id) else { return nil }
            self.batch = batch[...]
            return self.batch.popFirst()
        }

        /// Returns the next message; `nil` at the end or when the task is cancelled, which loses no message.
        public mutating func next(
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

    /// Creates an iterator. One task reads at a time.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(client: self.client, id: self.id) }
}

/// The received and unread messages of one subscription.
struct MessageInbox {
    let filters: [String]
    /// The topic filters that the topics of received messages are compared with. Of a shared subscription, only the
    /// filter behind the group's name.
    private let patterns: [String]
    var messages: [IncomingMessage] = []
    var bytes = 0
    /// `true` once the broker has granted the subscription, which the client then restores on each new connection.
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
