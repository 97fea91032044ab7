import Synchronization
public import TrackingCore
package import TrackingRuntime

/// Control of a running publisher: snapshots, settings, and commands from the broker.
extension AssetPublisher {
    /// Returns the publisher's state; `nil` once ``run()`` has ended, or when the wait is cancelled.
    public func snapshot() async -> PublisherSnapshot? {
        guard case .success(.snapshot(let snapshot)) = await self.request({ .snapshot(request: $0) }) else {
            return nil
        }
        return snapshot
    }

    /// `true` while ``run()`` opens the log. The publisher sends and answers nothing then. The salvage of a damaged
    /// log may take minutes.
    public var isOpeningLog: Bool { self.shared.withLock { !$0.isDeciding && !$0.hasEnded } }

    /// Takes one fix now, whatever the resolution in force, and returns when it was recorded. The fix is published
    /// live as soon as the publisher is connected.
    ///
    /// - Throws: `inputUnreadable` when the receiver delivers no position within 20 s, `invalidConfiguration` when
    ///   nothing is tracked, or `stopped`.
    public func report() async throws(TrackingError) {
        _ = try await self.request { .report(request: $0) }.get()
    }

    /// Changes settings of the running publisher, and returns when they are in force.
    ///
    /// These settings do not change: the client and its session, the topic root, the lease, the recorders, live
    /// publishing, and the permission for commands. The capture keeps its state: the clock, zones, pauses and motion.
    ///
    /// - Parameter configuration: All settings from now on.
    public func configure(_ configuration: PublisherConfiguration) async {
        await self.mailbox.postAndWait(.configure(configuration))
    }

    /// Posts a position. `receipt` is resumed at the moment at which ``publishAndWait(_:raw:)`` would return.
    package func publish(_ fix: Location, receipt: Receipt) {
        self.mailbox.post(.fix(fix, raw: fix), receipt: receipt)
    }

    /// Answers a command. The answer is recorded as an event of the trackable, and published if the command requested
    /// that.
    ///
    /// - Parameters:
    ///   - answer: The result, or the reason for which the command was refused.
    ///   - command: A command from ``commands``.
    public func answer(_ answer: CommandAnswer, to command: ReceivedCommand) {
        self.mailbox.post(.answer(answer, to: command))
    }

    // MARK: - Requests

    /// Posts a request with a number and waits for the answer. Returns `stopped` when the wait is cancelled.
    func request(
        _ event: @Sendable (UInt64) -> PublisherStateMachine.Event
    ) async -> Result<Answer, TrackingError> {
        let (answers, answer) = AsyncStream.makeStream(of: Result<Answer, TrackingError>.self)
        self.request(event) { reply in
            guard case .answered(let result) = reply else { return }
            answer.yield(result)
            answer.finish()
        }
        for await result in answers { return result }
        return .failure(
            TrackingError(
                .stopped, "the wait for the publisher's answer was cancelled. The request is carried out nevertheless.")
        )
    }

    /// Posts a request with a number. `reply` is called for each progress and for the answer.
    func request(
        _ event: @Sendable (UInt64) -> PublisherStateMachine.Event, _ reply: @escaping @Sendable (Reply) -> Void
    ) {
        let number: UInt64? = self.shared.withLock { shared in
            guard !shared.hasEnded else { return nil }
            shared.lastRequest += 1
            shared.requests[shared.lastRequest] = reply
            return shared.lastRequest
        }
        guard let number else {
            return reply(.answered(.failure(.publisherEnded)))
        }
        self.mailbox.post(event(number))
    }

    /// Publishes and records an event for every trackable.
    ///
    /// - Parameters:
    ///   - kind: The kind of the event.
    ///   - detail: The event's own members, in a JSON object of at most ``WireLimits/maximumDetailBytes``.
    /// - Throws: `payloadTooLarge` for a detail of more than ``WireLimits/maximumDetailBytes``, which readers reject.
    public func recordEvent(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:]
    ) throws(TrackingError) {
        try TrackingEvent.check(detail, of: kind)
        self.mailbox.post(.recordEvent(kind, detail))
    }
}
