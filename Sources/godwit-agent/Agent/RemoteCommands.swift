import ArgumentParser
import Logging
import TrackingControl
import TrackingCore
import TrackingMQTT
import TrackingPublisher

/// Carries out the commands that come from the broker, several at a time, and answers each.
struct RemoteCommands: Sendable {
    /// The commands that the agent accepts from the broker.
    enum Acceptance: String, Hashable, Sendable {
        /// None.
        case off
        /// Every command of the protocol, within ``RemoteConfigurationRule``.
        case restricted
        /// Every command of the protocol.
        case unrestricted
        /// A value that is none of these. The parser would take it for a missing value; ``ControlOptions`` refuses it.
        case unknown
    }

    /// How many are carried out at a time; the next is told that it is one too many.
    static let maximumAtOnce = 16

    let publisher: AssetPublisher<MQTTTransport>
    let dispatcher: ControlDispatcher
    private let logger = Logger(label: "godwit.control")

    init(_ publisher: AssetPublisher<MQTTTransport>, _ dispatcher: ControlDispatcher) {
        self.publisher = publisher
        self.dispatcher = dispatcher
    }

    /// Runs until the publisher ends or the task is cancelled.
    func run(_ commands: AsyncStream<ReceivedCommand>) async {
        let slots = Slots(Self.maximumAtOnce)
        await withDiscardingTaskGroup { group in
            for await received in commands {
                guard slots.enter() else {
                    let failure = CommandFailure(.busy, "\(Self.maximumAtOnce) commands are under way; try again")
                    self.answer(CommandAnswer(id: received.command.id, outcome: .failure(failure)), to: received)
                    continue
                }
                group.addTask {
                    let answer = await self.dispatcher.answer(received.command, on: received.trackable)
                    self.answer(answer, to: received)
                    slots.leave()
                }
            }
            group.cancelAll()
        }
    }

    private func answer(_ answer: CommandAnswer, to received: ReceivedCommand) {
        let outcome = if case .failure(let failure) = answer.outcome { failure.code.rawValue } else { "done" }
        self.logger.info(
            "command from the broker",
            metadata: [
                "trackable": "\(received.trackable)", "command": "\(received.command.name.rawValue)",
                "outcome": "\(outcome)",
            ])
        self.publisher.answer(answer, to: received)
    }
}

extension RemoteCommands.Acceptance: ExpressibleByArgument {
    /// Reads the value of `--allow-commands`: `restricted`, `unrestricted`, or true or false as for a flag.
    init(argument: String) {
        switch argument.lowercased() {
        case "restricted", "true", "yes", "on", "1": self = .restricted
        case "unrestricted": self = .unrestricted
        case "false", "no", "off", "0": self = .off
        default: self = .unknown
        }
    }
}
