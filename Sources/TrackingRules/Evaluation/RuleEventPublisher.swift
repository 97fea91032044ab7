import Logging
import TrackingCore

/// Publishes the events that rules produced, from the outbox to the event topics of their trackables, in order. Each
/// event waits for the broker's acknowledgement of the event before it.
struct RuleEventPublisher: Sendable {
    /// The name of this publisher among the readers of the outbox.
    static let reader = "mqtt"

    private static let minimumBackoff = Duration.milliseconds(500)
    private static let maximumBackoff = Duration.seconds(30)

    let outbox: Outbox
    let gate: OutboxGate
    let publish: @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void
    let logger: Logger

    /// Adds the publisher to the readers of the outbox, unless it is one already.
    func begin() async throws(TrackingError) { try await self.outbox.begin(Self.reader) }

    /// Publishes events until the task is cancelled. Events of earlier runs of the gateway wait until the outbox gate
    /// is open.
    func run() async {
        var changes = self.outbox.changes().makeAsyncIterator()
        var backoff = Self.minimumBackoff
        await self.gate.opened()
        while !Task.isCancelled {
            do throws(TrackingError) {
                if try await self.publishNext() == false { await changes.next() }
                backoff = Self.minimumBackoff
            } catch {
                self.logger.info(
                    "Event of a rule could not be published; the gateway tries again",
                    metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: backoff)
                backoff = min(backoff * 2, Self.maximumBackoff)
            }
        }
    }

    /// Publishes the next events in the outbox.
    ///
    /// - Returns: `false` when the outbox has no further event of a rule.
    private func publishNext() async throws(TrackingError) -> Bool {
        let (entries, through) = try await self.outbox.next(Self.reader, kinds: [.event], ownAlone: true, limit: 100)
        for entry in entries {
            do throws(TrackingError) {
                try await self.publish(try MessageCodec.decodeEvent(entry.payload.utf8), entry.trackable)
            } catch  where error.code == .notAuthorized {
                self.logger.warning(
                    "Event of a rule dropped: the broker's access rules do not let the gateway publish on the trackable's event topic",
                    metadata: ["trackable": "\(entry.trackable)"])
            }
            try await self.outbox.advance(Self.reader, to: entry.place)
        }
        try await self.outbox.advance(Self.reader, to: through)
        return !entries.isEmpty
    }
}
