import ArgumentParser
import FoundationEssentials
import Logging
import Synchronization
import TrackingCore
import TrackingPublisher
import TrackingRuntime

/// The command line of the program for events (`--notify`): its name or path and its arguments, separated by spaces.
/// Quotes have no special meaning.
struct NotifyCommand: Hashable, Sendable, ExpressibleByArgument {
    let words: [String]

    /// Splits the text of `--notify` at spaces into the program and its arguments; returns `nil` if the text contains
    /// no word.
    init?(argument: String) {
        self.words = argument.split(whereSeparator: \.isWhitespace).map(String.init)
        if self.words.isEmpty { return nil }
    }
}

/// Runs the user's program for events (`--notify`), for one event at a time and in order. A failure of the program is
/// logged and never stops the agent.
final class Notifier: Sendable {
    /// The longest time that the program may run for one event.
    static let limit: Duration = .seconds(30)
    /// The time that the program for events has for the remaining events when the agent ends.
    static let farewell: Duration = .seconds(2)

    private let program: EventProgram
    private let environment: [String: String]
    private let logger: Logger
    private let isLeaving = Atomic(false)
    private let leaving = WakeSignal()

    /// Creates an object that runs the user's program for events.
    ///
    /// - Parameters:
    ///   - command: The command line of the program.
    ///   - limit: The longest time that the program may run for one event.
    ///   - environment: The agent's environment. Variables that begin with `GODWIT_`, such as the password, are not
    ///     passed on to the program.
    ///   - logger: The logger for failures of the program.
    init(
        _ command: NotifyCommand, limit: Duration = Notifier.limit,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        logger: Logger = Logger(label: "godwit.notify")
    ) {
        self.program = EventProgram(words: command.words, limit: limit)
        self.environment = environment.filter { !$0.key.hasPrefix("GODWIT_") }
        self.logger = logger
    }

    /// Runs the program for each event until the stream of events ends. After ``leave()``, the program is not run any
    /// more, and the number of remaining events is logged.
    ///
    /// - Parameter lost: Returns the number of events that were dropped so far because the stream's buffer was full.
    func run(_ events: AsyncStream<TrackableEvent>, lost: @Sendable () -> Int) async {
        var undelivered = 0
        var lostSoFar = 0
        for await event in events {
            guard !self.isOver else {
                undelivered += 1
                continue
            }
            await self.notify(event)
            let lost = lost()
            if lost > lostSoFar { self.logDropped(lost - lostSoFar) }
            lostSoFar = lost
        }
        if undelivered > 0 { self.logDropped(undelivered) }
    }

    /// Stops running the program for events, because the agent ends. Kills the program if it is running; remaining
    /// events are only counted.
    func leave() {
        self.isLeaving.store(true, ordering: .relaxed)
        self.leaving.notify()
    }

    private var isOver: Bool { self.isLeaving.load(ordering: .relaxed) }

    private func notify(_ occurrence: TrackableEvent) async {
        let outcome = await self.program.run(
            MessageCodec.encode(occurrence.event) + Array("\n".utf8),
            environment: self.environment.merging(["GODWIT_TRACKABLE": occurrence.trackable.rawValue]) { $1 },
            signal: self.leaving
        ) { self.isOver }
        guard let complaint = outcome.complaint else { return }
        self.logger.warning(
            "Program for events (--notify) failed on an event: the event is not passed to it again. Correct the program",
            metadata: [
                "trackable": "\(occurrence.trackable)", "event": "\(occurrence.event.kind.rawValue)",
                "reason": "\(complaint)",
            ])
    }

    private func logDropped(_ count: Int) {
        self.logger.warning(
            "Events were not passed to the program for events (--notify): the program is too slow, or the agent stopped. Use a faster program",
            metadata: ["count": "\(count)"])
    }
}
