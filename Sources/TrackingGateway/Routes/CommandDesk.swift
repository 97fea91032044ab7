import HTTPTypes
import Synchronization
package import TrackingCore
import TrackingRuntime
package import TrackingSubscriber

/// Sends commands through the gateway's connection to the broker, and waits for the answers of the devices.
///
/// A device answers with an event of kind `COMMAND`, which the gateway receives as it receives every event.
package final class CommandDesk: Sendable {
    /// The largest number of commands whose answers are awaited at once: 64.
    static let maximum = 64

    private let publish: @Sendable (Command, TrackableID) async throws(TrackingError) -> Void
    private let events: @Sendable () -> AsyncStream<SubscriberEvent>
    private let waiting = Mutex(0)
    private let clock = DeviceClock()

    /// Creates the sender of commands, without a command that waits for its answer.
    ///
    /// - Parameters:
    ///   - events: Returns a new stream of everything that the gateway receives from now on.
    ///   - publish: Publishes a command, and returns once the broker has accepted it.
    package init(
        events: @escaping @Sendable () -> AsyncStream<SubscriberEvent>,
        publish: @escaping @Sendable (Command, TrackableID) async throws(TrackingError) -> Void
    ) {
        self.events = events
        self.publish = publish
    }

    /// Sends a command, and returns the answer of the device; `nil` if it does not answer in time.
    ///
    /// - Throws: `Problem`: 429 if too many commands wait for their answers, 502 if the broker does not let the gateway
    ///   send commands; `TrackingError` for other failures, such as `connectionLost` without a connection to the
    ///   broker.
    func send(_ command: Command, to id: TrackableID, within wait: Duration) async throws -> CommandAnswer? {
        try self.enter()
        defer { self.waiting.withLock { $0 -= 1 } }
        // The stream begins before the command is sent, so that it contains the answer.
        let events = self.events()
        try await self.hand(command, to: id)
        return await self.answer(to: command, in: events, until: self.clock.moment.now.advanced(by: wait))
    }

    /// Publishes a command for the device of a trackable.
    ///
    /// - Throws: `Problem` (502) if the broker does not let the gateway send commands; `TrackingError` for other
    ///   failures.
    private func hand(_ command: Command, to id: TrackableID) async throws {
        let failure: TrackingError
        do throws(TrackingError) { return try await self.publish(command, id) } catch { failure = error }
        guard failure.code == .notAuthorized else { throw failure }
        throw Problem(
            .badGateway,
            "The broker does not let the gateway send commands. Give it the right with broker/add-gateway --commands.")
    }

    /// Waits for the device's answer to a command, and returns the answer; `nil` after the deadline.
    private func answer(
        to command: Command, in events: AsyncStream<SubscriberEvent>, until deadline: MonotonicTime
    ) async -> CommandAnswer? {
        let clock = self.clock
        return await withTaskGroup(of: CommandAnswer?.self) { group in
            group.addTask { await Self.answer(to: command, in: events) }
            group.addTask {
                await clock.sleep(until: deadline)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
    }

    private func enter() throws(Problem) {
        let isFull = self.waiting.withLock { waiting in
            guard waiting < Self.maximum else { return true }
            waiting += 1
            return false
        }
        guard !isFull else {
            throw Problem(
                .tooManyRequests, "Too many commands wait for the answers of devices: try again later.",
                headers: [.retryAfter: "5"])
        }
    }

    private static func answer(to command: Command, in events: AsyncStream<SubscriberEvent>) async -> CommandAnswer? {
        for await case .event(_, let event) in events where event.kind == .command {
            guard let answer = try? CommandCodec.answer(in: event), answer.id == command.id else { continue }
            return answer
        }
        return nil
    }
}
