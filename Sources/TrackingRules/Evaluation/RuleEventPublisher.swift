import Logging
import TrackingCore

/// Publishes the events of rules from the outbox on their topics, in order. Each event waits for the acknowledgement of the one
/// before it.
struct RuleEventPublisher: Sendable {
    /// The publisher's name among the readers of the outbox.
    static let reader = "mqtt"

    private static let minimumBackoff = Duration.milliseconds(500)
    private static let maximumBackoff = Duration.seconds(30)

    let outbox: Outbox
    let gate: OutboxGate
    let publish: @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void
    let logger: Logger

    /// Gives the publisher a place in the outbox, unless it has one.
    func begin() async throws(TrackingError) { try await self.outbox.begin(Self.reader) }

    /// Publishes until the task is cancelled. Messages of earlier runs wait for the gate.
    func run() async {
        var changes = self.outbox.changes().makeAsyncIterator()
        var backoff = Self.minimumBackoff
        await self.gate.opened()
        while !Task.isCancelled {
            do throws(TrackingError) {
                if try await self.publishNext() == false { await changes.next() }
                backoff = Self.minimumBackoff
            } catch {
                self.logger.info("Event of a rule not published yet", metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: backoff)
                backoff = min(backoff * 2, Self.maximumBackoff)
            }
        }
    }

    /// - Returns: `false` when the outbox has no further event.
    private func publishNext() async throws(TrackingError) -> Bool {
        let (entries, through) = try await self.outbox.next(Self.reader, kinds: [.event], ownAlone: true, limit: 100)
        for entry in entries {
            do throws(TrackingError) {
                try await self.publish(try MessageCodec.decodeEvent(entry.payload.utf8), entry.trackable)
            } catch  where error.code == .notAuthorized {
                self.logger.warning(
                    "Event of a rule dropped: the broker's access rules do not let the gateway publish it",
                    metadata: ["trackable": "\(entry.trackable)"])
            }
            try await self.outbox.advance(Self.reader, to: entry.place)
        }
        try await self.outbox.advance(Self.reader, to: through)
        return !entries.isEmpty
    }
}
