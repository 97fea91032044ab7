public import TrackingCore
import Synchronization
import TrackingRuntime

/// What a publisher that runs is asked and told by those who steer it.
extension AssetPublisher {
    /// How things stand now, as the decider has it; `nil` once ``run()`` has ended.
    public func snapshot() async -> PublisherSnapshot? {
        await self.snapshots.ask { self.mailbox.post(.snapshot(request: $0)) }
    }

    /// Takes one fix now, whatever the resolution in force: it is recorded, and goes out on the live lane as soon as there is
    /// a connection. Returns when it was recorded.
    ///
    /// - Throws: `inputUnreadable` where the receiver told no position within 20 s, `invalidConfiguration` where nothing is
    ///   carried, `stopped`.
    public func report() async throws(TrackingError) {
        let outcome = await self.reports.ask { self.mailbox.post(.report(request: $0)) }
        guard let outcome else { throw TrackingError(.stopped, "the publisher has ended") }
        try outcome.get()
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

/// Who waits for the answer to which question, by number.
final class Questions<Answer: Sendable>: Sendable {
    private struct State {
        var waiting: [UInt64: CheckedContinuation<Answer?, Never>] = [:]
        var last: UInt64 = 0
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Asks, and waits for the answer; `nil` when there will be none.
    func ask(_ post: (UInt64) -> Void) async -> Answer? {
        await withCheckedContinuation { continuation in
            let number: UInt64? = self.state.withLock { state in
                guard !state.hasEnded else { return nil }
                state.last += 1
                state.waiting[state.last] = continuation
                return state.last
            }
            if let number { post(number) } else { continuation.resume(returning: nil) }
        }
    }

    /// The answer to one question.
    func answer(_ number: UInt64, _ answer: Answer) {
        self.state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(returning: answer)
    }

    /// Nobody will answer any more.
    func end() {
        let waiting = self.state.withLock { state in
            state.hasEnded = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: nil) }
    }
}
