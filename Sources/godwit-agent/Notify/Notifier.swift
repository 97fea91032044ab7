import ArgumentParser
import FoundationEssentials
import Logging
import Synchronization
import TrackingCore
import TrackingPublisher

/// The program that is told events: its name or path, and its arguments, as words between white space. There is no quoting.
struct NotifyCommand: Hashable, Sendable, ExpressibleByArgument {
    let words: [String]

    /// Reads the words, at least one.
    init?(argument: String) {
        self.words = argument.split(whereSeparator: \.isWhitespace).map(String.init)
        if self.words.isEmpty { return nil }
    }
}

/// Tells a program each event, in order and one at a time. Nothing that the program does harms the agent.
final class Notifier: Sendable {
    /// How long the program may take for one event.
    static let limit: Duration = .seconds(30)
    /// How long the program is waited for when the agent ends.
    static let farewell: Duration = .seconds(2)

    private let program: EventProgram
    private let environment: [String: String]
    private let logger: Logger
    private let isLeaving = Atomic(false)

    /// - Parameter environment: That of the agent; what it says to the agent, and its password, are not the program's.
    init(
        _ command: NotifyCommand, limit: Duration = Notifier.limit,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        logger: Logger = Logger(label: "godwit.notify")
    ) {
        self.program = EventProgram(words: command.words, limit: limit)
        self.environment = environment.filter { !$0.key.hasPrefix("GODWIT_") }
        self.logger = logger
    }

    /// Tells the events until there are no more. After ``leave()`` the rest is only counted, which is logged.
    ///
    /// - Parameter lost: How many events there was no room for, so far.
    func run(_ events: AsyncStream<TrackableEvent>, lost: @Sendable () -> Int) async {
        var untold = 0
        var lostSoFar = 0
        for await told in events {
            guard !self.isOver else {
                untold += 1
                continue
            }
            await self.tell(told)
            let lost = lost()
            if lost > lostSoFar { self.logDropped(lost - lostSoFar) }
            lostSoFar = lost
        }
        if untold > 0 { self.logDropped(untold) }
    }

    /// The agent waits no longer: a program that runs is killed.
    func leave() { self.isLeaving.store(true, ordering: .relaxed) }

    private var isOver: Bool { self.isLeaving.load(ordering: .relaxed) }

    private func tell(_ told: TrackableEvent) async {
        let outcome = await self.program.run(
            MessageCodec.encode(told.event) + Array("\n".utf8),
            environment: self.environment.merging(["GODWIT_TRACKABLE": told.trackable.rawValue]) { $1 }
        ) { self.isOver }
        guard let complaint = outcome.complaint else { return }
        self.logger.warning(
            "the program of --notify failed",
            metadata: [
                "trackable": "\(told.trackable)", "event": "\(told.event.kind.rawValue)", "reason": "\(complaint)",
            ])
    }

    private func logDropped(_ count: Int) {
        self.logger.warning("events were not told to the program of --notify", metadata: ["count": "\(count)"])
    }
}
