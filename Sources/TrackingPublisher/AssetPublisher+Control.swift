import Synchronization
public import TrackingCore
package import TrackingRuntime

/// What a publisher that runs is asked and told by those who steer it.
extension AssetPublisher {
    /// How things stand now, as the decider has it; `nil` once ``run()`` has ended, or when the wait is cancelled.
    public func snapshot() async -> PublisherSnapshot? {
        guard case .success(.snapshot(let snapshot)) = await self.request({ .snapshot(request: $0) }) else {
            return nil
        }
        return snapshot
    }

    /// Whether nothing is decided or answered yet, because ``run()`` still opens the log: a damaged one is salvaged then, which may
    /// take minutes.
    public var isOpeningLog: Bool { self.shared.withLock { !$0.isDeciding && !$0.hasEnded } }

    /// Takes one fix now, whatever the resolution in force: it is recorded, and goes out on the live lane as soon as there is
    /// a connection. Returns when it was recorded.
    ///
    /// - Throws: `inputUnreadable` where the receiver told no position within 20 s, `invalidConfiguration` where nothing is
    ///   carried, `stopped`.
    public func report() async throws(TrackingError) {
        _ = try await self.request { .report(request: $0) }.get()
    }

    /// Changes settings while it runs; returns when they are in force. Of `configuration` these stay as they were: the client
    /// and its session, the topic root, the lease, the recorders, and whether commands are taken.
    ///
    /// What capturing has learned so far (the clock, zones, pauses, motion) stays.
    public func configure(_ configuration: PublisherConfiguration) async {
        await self.mailbox.postAndWait(.configure(configuration))
    }

    /// A position, posted before this returns; `receipt` is let go as ``publishAndWait(_:raw:)`` returns.
    package func publish(_ fix: Location, receipt: Receipt) {
        self.mailbox.post(.fix(fix, raw: fix), receipt: receipt)
    }

    /// The commands that come from the broker, from now on, where the configuration takes any. Each of them is to be answered.
    public var commands: AsyncStream<ReceivedCommand> { self.receivedCommands.listen() }

    /// Answers a command: as an event of its trackable, and where the command asked for it.
    public func answer(_ answer: CommandAnswer, to command: ReceivedCommand) {
        self.mailbox.post(.answer(answer, to: command))
    }

    // MARK: - Asking

    /// Asks the decider, under a number, and waits for the answer; `stopped` when the wait is cancelled.
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
        return .failure(TrackingError(.stopped, "the wait was cancelled; what was asked for is done all the same"))
    }

    /// Asks the decider, under a number; `reply` hears of it until the answer has come.
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
            return reply(.answered(.failure(TrackingError(.stopped, "the publisher has ended"))))
        }
        self.mailbox.post(event(number))
    }

    /// Publishes an event of every trackable, and records it.
    ///
    /// - Throws: `payloadTooLarge` for a detail of more than ``WireLimits/maximumDetailBytes``, which readers refuse.
    public func tell(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:]
    ) throws(TrackingError) {
        try TrackingEvent.check(detail, of: kind)
        self.mailbox.post(.notice(kind, detail))
    }
}
