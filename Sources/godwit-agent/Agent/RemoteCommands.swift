import ArgumentParser
import Logging
import TrackingControl
import TrackingCore
import TrackingPublisher

/// Performs the commands that the agent receives through the broker, several at a time, and publishes an answer to each
/// of them.
struct RemoteCommands: Sendable {
    /// The commands from the broker that the agent accepts, as the option `--allow-commands` decides.
    enum Acceptance: String, Hashable, Sendable {
        /// The agent accepts no commands from the broker.
        case off
        /// The agent accepts every command of the protocol. ``RemoteConfigurationRule`` limits the changes of settings.
        case restricted
        /// The agent accepts every command of the protocol, without the limits of ``RemoteConfigurationRule`` for
        /// changes of settings.
        case unrestricted
        /// The option `--allow-commands` was given with an unknown value, which ``ControlOptions`` rejects. This case
        /// exists so that the parser does not report a missing value instead.
        case unknown
    }

    /// The largest number of commands from the broker that run at a time. A further command is answered with `busy`.
    static let maximumAtOnce = 16

    let publisher: AssetPublisher<AgentTransport>
    let dispatcher: ControlDispatcher
    private let logger = Logger(label: "godwit.control")

    init(_ publisher: AssetPublisher<AgentTransport>, _ dispatcher: ControlDispatcher) {
        self.publisher = publisher
        self.dispatcher = dispatcher
    }

    /// Performs each received command and publishes its answer, until the publisher ends or the task is cancelled.
    func run(_ commands: AsyncStream<ReceivedCommand>) async {
        let slots = Slots(Self.maximumAtOnce)
        await withDiscardingTaskGroup { group in
            for await received in commands {
                guard slots.enter() else {
                    let failure = CommandFailure(
                        .busy,
                        "cannot accept the command: the agent is performing \(Self.maximumAtOnce) other commands, which is the limit. Try again later"
                    )
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
            "Agent answered a command that it received through the broker",
            metadata: [
                "trackable": "\(received.trackable)", "command": "\(received.command.name.rawValue)",
                "outcome": "\(outcome)",
            ])
        self.publisher.answer(answer, to: received)
    }
}

extension RemoteCommands.Acceptance: ExpressibleByArgument {
    /// Parses the value of `--allow-commands`: `restricted` or `unrestricted`. A value for "true" means `restricted`,
    /// and a value for "false" means `off`. Any other value becomes `unknown`.
    init(argument: String) {
        switch argument.lowercased() {
        case "restricted", "true", "yes", "on", "1": self = .restricted
        case "unrestricted": self = .unrestricted
        case "false", "no", "off", "0": self = .off
        default: self = .unknown
        }
    }
}
