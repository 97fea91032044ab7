import Synchronization
import TrackingCore
import TrackingPublisher
import TrackingRuntime

/// Passes commands from the broker to phones. A phone gets its commands in the answers to its HTTP requests. Then the
/// answers to the commands are published for their senders.
final class PhoneCommandDesk: Sendable {
    private let pending = Mutex(PendingCommands())
    private let answer: @Sendable (CommandAnswer, ReceivedCommand) -> Void
    private let clock = DeviceClock()

    /// Creates a desk that passes commands to phones. No command waits yet.
    ///
    /// - Parameter answer: Publishes the answer to a command.
    init(answer: @escaping @Sendable (CommandAnswer, ReceivedCommand) -> Void) { self.answer = answer }

    /// Accepts a command that arrived from the broker for a phone, or publishes the reason for rejecting it.
    func receive(_ command: ReceivedCommand) {
        let refusal = self.pending.withLock { $0.add(command, now: self.clock.moment.wall) }
        if let refusal { self.answer(refusal.answer, refusal.command) }
    }

    /// Removes and returns the waiting commands for the phone of a trackable, and publishes the answers to their
    /// senders. For an app other than OwnTracks and Overland, returns no command, and all of them continue to wait.
    ///
    /// - Parameter client: The app on the phone that sends the present HTTP request.
    func take(for id: TrackableID, by client: PhoneClient) -> PendingCommands.Delivery {
        let delivery = self.pending.withLock { $0.take(for: id, by: client, now: self.clock.moment.wall) }
        for answer in delivery.answers { self.answer(answer.answer, answer.command) }
        return delivery
    }
}
