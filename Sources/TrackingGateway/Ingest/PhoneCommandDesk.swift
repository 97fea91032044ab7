import Synchronization
import TrackingCore
import TrackingPublisher
import TrackingRuntime

/// Passes commands from the broker to phones, which get them in the answers to their HTTP requests, and publishes the
/// answers of the commands.
final class PhoneCommandDesk: Sendable {
    private let pending = Mutex(PendingCommands())
    private let answer: @Sendable (CommandAnswer, ReceivedCommand) -> Void
    private let clock = DeviceClock()

    /// Creates a desk without waiting commands.
    ///
    /// - Parameter answer: Publishes the answer to a command.
    init(answer: @escaping @Sendable (CommandAnswer, ReceivedCommand) -> Void) { self.answer = answer }

    /// Adds a command that arrived from the broker, or publishes the reason for rejecting it.
    func receive(_ command: ReceivedCommand) {
        let refusal = self.pending.withLock { $0.add(command, now: self.clock.moment.wall) }
        if let refusal { self.answer(refusal.answer, refusal.command) }
    }

    /// Removes and returns the commands for the phone of a trackable, and publishes their answers.
    ///
    /// - Parameter client: The app that sends the request.
    func take(for id: TrackableID, by client: PhoneClient) -> PendingCommands.Delivery {
        let delivery = self.pending.withLock { $0.take(for: id, by: client, now: self.clock.moment.wall) }
        for answer in delivery.answers { self.answer(answer.answer, answer.command) }
        return delivery
    }
}
