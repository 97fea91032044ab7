public import TrackingCore
import TrackingRuntime

/// What a publisher that runs is asked and told by those who steer it.
extension AssetPublisher {
    /// How things stand now, as the decider has it; `nil` once ``run()`` has ended.
    public func snapshot() async -> PublisherSnapshot? {
        guard case .success(.snapshot(let snapshot)) = await self.request({ .snapshot(request: $0) }) else {
            return nil
        }
        return snapshot
    }

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
    /// What capturing has learned so far (pauses, motion) begins anew where its settings change.
    public func configure(_ configuration: PublisherConfiguration) async {
        await self.mailbox.postAndWait(.configure(configuration))
    }

    /// The commands that come from the broker, from now on, where the configuration takes any. Each of them is to be answered.
    public var commands: AsyncStream<ReceivedCommand> { self.receivedCommands.listen() }

    /// Answers a command: as an event of its trackable, and where the command asked for it.
    public func answer(_ answer: CommandAnswer, to command: ReceivedCommand) {
        self.mailbox.post(.answer(answer, to: command))
    }
}
