import Synchronization
public import TrackingCore
package import TrackingRuntime

/// Control of a running publisher: snapshots, settings, and commands from the broker.
extension AssetPublisher {
    /// Returns a snapshot of the publisher and its trackables. `nil` once ``run()`` has ended, or when the waiting task
    /// is cancelled.
    public func snapshot() async -> PublisherSnapshot? {
        guard case .success(.snapshot(let snapshot)) = await self.request({ .snapshot(request: $0) }) else {
            return nil
        }
        return snapshot
    }

    /// `true` until ``run()`` has opened the log, the publisher's durable store of records. The publisher neither sends
    /// nor answers before. Opening a damaged log may take minutes, because its intact records are copied.
    public var isOpeningLog: Bool { self.shared.withLock { !$0.isDeciding && !$0.requests.hasEnded } }

    /// Requests one fix (a position from the receiver) now, even if the current resolution asks for none. Returns when
    /// the fix has arrived. The fix is recorded even if the filters would skip it, and published as soon as the
    /// publisher is connected.
    ///
    /// - Throws: `inputUnreadable` when the receiver delivers no position within 20 s, `invalidConfiguration` when the
    ///   publisher is off or tracks nothing, or `stopped`.
    public func report() async throws(TrackingError) {
        _ = try await self.request { .report(request: $0) }.get()
    }

    /// Changes settings of the running publisher, and returns when the new settings are in force.
    ///
    /// Some settings never change: the client and its session, the topic root, the lease (the time after which a silent
    /// publisher counts as gone), the recorders, live publishing, and the permission for commands. New settings of the
    /// capture, which filters fixes, apply at once. The state of the capture remains: the known time, the motion, the
    /// pause, and the zones that contain the device.
    ///
    /// - Parameter configuration: All settings from now on.
    public func configure(_ configuration: PublisherConfiguration) async {
        await self.mailbox.postAndWait(.configure(configuration))
    }

    /// Passes a position to the publisher, and returns at once. The publisher resumes `receipt` when
    /// ``publishAndWait(_:raw:)`` would return: everything published so far was acknowledged, or the broker rejects
    /// this device or every trackable of it.
    package func publish(_ fix: Location, receipt: Receipt) {
        self.mailbox.post(.fix(fix, raw: fix), receipt: receipt)
    }

    /// Answers a command that the publisher received from an operator. The answer is recorded and published as an event
    /// of the trackable. It is also published on the command's response topic, if the command names one and the
    /// publisher is connected.
    ///
    /// - Parameters:
    ///   - answer: The result, or the reason for which the command was refused.
    ///   - command: A command from ``commands``.
    public func answer(_ answer: CommandAnswer, to command: ReceivedCommand) {
        self.mailbox.post(.answer(answer, to: command))
    }

    // MARK: - Requests

    /// Sends a request to the publisher's own task and waits for the answer. Returns the error `stopped` when the
    /// waiting task is cancelled; the request is carried out nevertheless.
    ///
    /// - Parameter event: Creates the event that passes the request to the publisher, from the number assigned to the
    ///   request.
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

    /// Sends a request to the publisher's own task, and returns at once. The publisher calls `reply` for each report of
    /// progress, and for the answer.
    ///
    /// - Parameter event: Creates the event that passes the request to the publisher, from the number assigned to the
    ///   request.
    func request(
        _ event: @Sendable (UInt64) -> PublisherStateMachine.Event, _ reply: @escaping @Sendable (Reply) -> Void
    ) {
        guard let number = self.shared.withLock({ $0.requests.add(reply) }) else {
            return reply(.answered(.failure(.publisherEnded)))
        }
        self.mailbox.post(event(number))
    }

    /// Records an event for each tracked trackable in the log, and publishes it.
    ///
    /// - Parameters:
    ///   - kind: The kind of the event.
    ///   - detail: The event's own members, in a JSON object of at most ``/TrackingCore/WireLimits/maximumDetailBytes``
    ///     bytes.
    /// - Throws: `payloadTooLarge` for a larger detail, which receivers would reject.
    public func recordEvent(
        _ kind: TrackingEvent.Kind, _ detail: [String: TrackingEvent.DetailValue] = [:]
    ) throws(TrackingError) {
        try TrackingEvent.check(detail, of: kind)
        self.mailbox.post(.recordEvent(kind, detail))
    }
}
