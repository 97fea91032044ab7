package import TrackingCore

/// The broker's answer to a message that it accepted.
package enum PublishReason: Hashable, Sendable {
    /// The broker accepted the message and is now responsible for its delivery.
    case success
    /// The broker accepted the message, and no client has subscribed to its topic. Only MQTT 5 reports this.
    case noMatchingSubscribers
}

/// An MQTT client with asynchronous calls: publish a message and wait for the broker's answer, subscribe and read
/// messages.
///
///     let client = try MQTTClient(configuration: configuration)
///     async let running: Void = client.run()
///     try await client.publish(message)
///     try await client.withSubscription(to: ["tracking/+"]) { messages in
///         for try await message in messages { … }
///     }
///
/// The client is an actor on the thread of its event loop. Use an ``MQTTTransport`` directly for thousands of messages
/// a second, or to be informed when connections begin and end.
///
/// No message is lost while the program does not read a subscription. The client then stops reading from the broker
/// when the unread messages reach the limits of ``MQTTConfiguration``. While a call waits for the broker's answer,
/// which comes behind these messages, the client reads on up to twice the limits.
package actor MQTTClient {
    private enum Link {
        /// The client has no connection. Since its start, or since its last connection was lost, no attempt to connect
        /// has ended.
        case pending
        case up
        case down(TrackingError)
        case ended
    }

    /// The client's executor: the thread of the event loop.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.loop.asUnownedSerialExecutor() }

    let loop: MQTTEventLoop
    private let transport: MQTTTransport
    private let limits: MQTTConfiguration.Limits
    private let unmatched = UnmatchedPublishes()
    private var link = Link.pending
    private var isClosing = false
    private var lastToken: TransportToken = 0
    private var outcomes: [TransportToken: CheckedContinuation<TrackingError?, Never>] = [:]
    private var waitingForLink: [TransportToken: CheckedContinuation<Void, Never>] = [:]
    private var inboxes: [TransportToken: MessageInbox] = [:]
    private var resubscriptions: [TransportToken: TransportToken] = [:]
    private var gate: CheckedContinuation<Void, Never>?

    /// Creates an MQTT client without a connection. ``run()`` connects it.
    ///
    /// - Throws: `invalidConfiguration` with the name of the value; `inputUnreadable` for a certificate file.
    package init(configuration: MQTTConfiguration, loop: MQTTEventLoop = .shared) throws(TrackingError) {
        self.loop = loop
        self.limits = configuration.limits
        self.transport = try MQTTTransport(configuration: configuration, loop: loop, unmatched: self.unmatched)
    }

    /// Connects, and reconnects after each loss, until ``close(within:)`` is called or the task is cancelled. After a
    /// cancellation, the client disconnects at once, without waiting for the broker's answers. Call this function once.
    package func run() async {
        await withTaskCancellationHandler {
            async let running: Void = self.transport.run()
            for await events in self.transport.events {
                for event in events { self.take(event) }
                await self.waitForRoom()
            }
            await running
        } onCancel: {
            self.loop.call { self.assumeIsolated { $0.beginClosing() } }
        }
        self.end()
    }

    /// Closes the client. It disconnects when the broker has answered everything that was sent before, or when `limit`
    /// has passed. Then ``run()`` returns. Messages that arrive in the meantime are dropped if the unread messages of a
    /// subscription reach twice the limits.
    package func close(within limit: Duration) {
        self.beginClosing()
        self.transport.send([.close(within: limit)])
    }

    /// `true` if the broker reports each publish that it refuses. This is so when the last connection used MQTT 5. In
    /// MQTT 3.1.1, a broker acknowledges a refused publish like an accepted one.
    package nonisolated var reportsRefusedPublishes: Bool { self.unmatched.acceptedVersion == .v5 }

    /// The number of messages that wait in the program's subscriptions until the program reads them. Messages that the
    /// client has not yet assigned to a subscription are not counted.
    package var waitingMessages: Int { self.inboxes.values.reduce(0) { $0 + $1.messages.count } }

    // MARK: - Publishing

    /// Publishes a message at QoS 1 and returns the broker's answer. Without a connection, the call throws at once if
    /// the last finished attempt to connect failed, even while the next attempt runs. If no attempt has finished since
    /// the start or since the connection was lost, the call waits for the outcome of the first one.
    ///
    /// - Throws: The broker's refusal with its reason, or the reason why there is no connection. `connectionLost` when
    ///   the connection was lost before the answer: the broker may have accepted the message or not. `stopped` after
    ///   the client was closed or the task was cancelled.
    @discardableResult
    package func publish(_ message: OutgoingMessage) async throws(TrackingError) -> PublishReason {
        try await self.waitForLink()
        let token = self.nextToken()
        if let error = await self.outcome(of: token, .publish(message, token)) { throw error }
        return self.unmatched.remove(token) ? .noMatchingSubscribers : .success
    }

    // MARK: - Subscribing

    /// Subscribes at QoS 1, passes the messages to `body`, and unsubscribes when `body` returns or throws. After a lost
    /// connection, the client subscribes again by itself. A message that matches several subscriptions is delivered to
    /// each of them.
    ///
    /// - Parameter filters: Topic filters; those of a shared subscription begin with `$share/`.
    /// - Throws: The broker's refusal of a filter; the reason why there is no connection, as for ``publish(_:)``; the
    ///   error of `body`.
    package nonisolated func withSubscription<Value>(
        to filters: [String], _ body: (MQTTMessages) async throws -> Value
    ) async throws -> Value {
        let messages = try await self.subscribe(to: filters)
        do {
            let value = try await body(messages)
            await self.unsubscribe(messages.id)
            return value
        } catch {
            await self.unsubscribe(messages.id)
            throw error
        }
    }

    private func subscribe(to filters: [String]) async throws(TrackingError) -> MQTTMessages {
        try await self.waitForLink()
        let token = self.nextToken()
        // The retained messages may arrive before the answer.
        self.inboxes[token] = MessageInbox(filters: filters)
        if let error = await self.outcome(of: token, .subscribe(filters, token)) {
            self.unsubscribe(token)
            throw error
        }
        self.inboxes[token]?.isGranted = true
        return MQTTMessages(client: self, id: token)
    }

    private func unsubscribe(_ id: TransportToken) {
        guard let inbox = self.inboxes.removeValue(forKey: id) else { return }
        inbox.waiter?.resume()
        let others = Set(self.inboxes.values.flatMap(\.filters))
        let alone = inbox.filters.filter { !others.contains($0) }
        if !alone.isEmpty { self.transport.send([.unsubscribe(alone)]) }
        self.openGate()
    }

    /// Returns the messages received for a subscription since the last call. Waits until there is at least one.
    ///
    /// - Returns: `nil` when the subscription or the client has ended, or when the task is cancelled. A cancellation
    ///   loses no message.
    /// - Throws: The broker's refusal to restore the subscription after a lost connection.
    func messages(of id: TransportToken) async throws(TrackingError) -> [IncomingMessage]? {
        while let inbox = self.inboxes[id] {
            if !inbox.messages.isEmpty {
                defer { self.openGate() }
                return self.inboxes[id]?.take()
            }
            if let failure = inbox.failure { throw failure }
            if inbox.isEnded || Task.isCancelled { return nil }
            precondition(inbox.waiter == nil, "the messages of a subscription are for one task")
            await withTaskCancellationHandler {
                await withCheckedContinuation { self.inboxes[id]?.waiter = $0 }
            } onCancel: {
                self.loop.call { self.assumeIsolated { $0.inboxes[id]?.wake() } }
            }
        }
        return nil
    }

    // MARK: - Waiting

    private func nextToken() -> TransportToken {
        self.lastToken += 1
        return self.lastToken
    }

    private func waitForLink() async throws(TrackingError) {
        while true {
            if self.isClosing || Task.isCancelled {
                throw TrackingError(.stopped, "cannot use the MQTT client: it was closed. Create another client")
            }
            switch self.link {
            case .up: return
            case .down(let error): throw error
            case .ended:
                throw TrackingError(
                    .stopped, "cannot use the MQTT client: it was closed. Create another client")
            case .pending: break
            }
            let token = self.nextToken()
            await withTaskCancellationHandler {
                await withCheckedContinuation { self.waitingForLink[token] = $0 }
            } onCancel: {
                self.loop.call { self.assumeIsolated { $0.waitingForLink.removeValue(forKey: token)?.resume() } }
            }
        }
    }

    /// Sends a command to the connection, and waits for the broker's answer. Returns `nil` for success, otherwise the
    /// broker's refusal or the reason why no answer came.
    private func outcome(of token: TransportToken, _ command: TransportCommand) async -> TrackingError? {
        self.openGate()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.outcomes[token] = continuation
                self.transport.send([command])
            }
        } onCancel: {
            self.loop.call {
                let error = TrackingError(
                    .stopped,
                    "the wait for the broker's answer was cancelled. The request may have been accepted")
                self.assumeIsolated { $0.outcomes.removeValue(forKey: token)?.resume(returning: error) }
            }
        }
    }

    /// Waits while the unread messages of any subscription reach a limit of the configuration. During the wait, the
    /// client reads nothing from the broker.
    ///
    /// The method returns at once while a call waits for the broker's answer, because the answer comes behind the
    /// unread messages. If the unread messages reach twice a limit, all calls that wait for an answer fail, and the
    /// method waits.
    private func waitForRoom() async {
        while !self.isClosing, self.isFull(times: 1) {
            if self.isFull(times: 2), !self.outcomes.isEmpty {
                let error = TrackingError(
                    .refused,
                    """
                    cannot receive the broker's answer: too many messages of a subscription are unread. Read those messages first
                    """)
                self.failOutcomes(error)
            }
            if !self.outcomes.isEmpty { return }
            await withCheckedContinuation { self.gate = $0 }
        }
    }

    private func isFull(times: Int) -> Bool {
        self.inboxes.values.contains {
            $0.messages.count >= self.limits.waitingEvents * times || $0.bytes >= self.limits.waitingBytes * times
        }
    }

    private func openGate() {
        self.gate?.resume()
        self.gate = nil
    }

    // MARK: - What happens

    private func take(_ event: TransportEvent) {
        switch event {
        case .connected:
            self.link = .up
            self.subscribeAgain()
            self.wakeLinkWaiters()
        case .disconnected(let end):
            let error = end.reason ?? Self.ended(isRenewal: end.isRenewal)
            self.link = end.retry == nil ? .ended : end.failure.map { .down($0) } ?? .pending
            self.failOutcomes(end.lasted == nil ? error : Self.lost(error))
            self.resubscriptions = [:]
            self.wakeLinkWaiters()
        case .received(let message):
            for id in self.inboxes.keys where self.inboxes[id]?.matches(message.topic) == true {
                if !self.isClosing || !self.isFull(times: 2) { self.inboxes[id]?.append(message) }
            }
        case .published(let token, let refusal):
            guard let continuation = self.outcomes.removeValue(forKey: token) else {
                _ = self.unmatched.remove(token)
                return
            }
            continuation.resume(returning: refusal)
        case .subscribed(let token, let refusals):
            let refusal = refusals.lazy.compactMap { $0 }.first
            self.outcomes.removeValue(forKey: token)?.resume(returning: refusal)
            if let id = self.resubscriptions.removeValue(forKey: token), let refusal { self.inboxes[id]?.fail(refusal) }
        }
    }

    private func subscribeAgain() {
        for (id, inbox) in self.inboxes where inbox.isGranted && inbox.failure == nil {
            let token = self.nextToken()
            self.resubscriptions[token] = id
            self.transport.send([.subscribe(inbox.filters, token)])
        }
    }

    private func wakeLinkWaiters() {
        let waiters = self.waitingForLink.values
        self.waitingForLink = [:]
        for waiter in waiters { waiter.resume() }
    }

    private func failOutcomes(_ error: TrackingError) {
        let outcomes = self.outcomes.values
        self.outcomes = [:]
        for outcome in outcomes { outcome.resume(returning: error) }
    }

    private static func ended(isRenewal: Bool) -> TrackingError {
        isRenewal
            ? TrackingError(.connectionLost, "the client connects again with new credentials")
            : TrackingError(.stopped, "cannot use the MQTT client: it was closed. Create another client")
    }

    private static func lost(_ error: TrackingError) -> TrackingError {
        TrackingError(
            .connectionLost, "the connection was lost before the broker answered: \(error.message)",
            reasonCode: error.reasonCode)
    }

    private func beginClosing() {
        self.isClosing = true
        self.openGate()
        self.wakeLinkWaiters()
    }

    private func end() {
        self.beginClosing()
        self.link = .ended
        self.failOutcomes(TrackingError(.stopped, "cannot use the MQTT client: it was closed. Create another client"))
        for id in self.inboxes.keys { self.inboxes[id]?.end() }
    }
}
