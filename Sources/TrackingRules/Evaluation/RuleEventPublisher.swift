import Logging
import TrackingCore

/// Publishes the events that the gateway's rules produced on the MQTT event topics of their trackables, in order.
///
/// The events wait in the outbox, a message queue in the gateway's database. Each event is published after the broker
/// has acknowledged the event before it. An event that the broker's access rules reject is dropped.
struct RuleEventPublisher: Sendable {
    /// The name under which the publisher of rule events reads the outbox.
    static let reader = "mqtt"

    private static let minimumBackoff = Duration.milliseconds(500)
    private static let maximumBackoff = Duration.seconds(30)

    let outbox: Outbox
    let gate: OutboxGate
    let publish: @Sendable (TrackingEvent, TrackableID) async throws(TrackingError) -> Void
    let logger: Logger

    /// Registers the publisher of rule events as a reader of the outbox, unless it is registered already.
    func begin() async throws(TrackingError) { try await self.outbox.begin(Self.reader) }

    /// Publishes events from the outbox until the task is cancelled. Publishes nothing before the outbox gate is open,
    /// so that messages about erased trackables are removed first.
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
                    "Event of a rule could not be published, or could not be marked as published: the gateway tries again, and may publish the event twice",
                    metadata: ["reason": "\(error.message)"])
                try? await Task.sleep(for: backoff)
                backoff = min(backoff * 2, Self.maximumBackoff)
            }
        }
    }

    /// Publishes the events that rules produced and that are next in the outbox, at most 100.
    ///
    /// - Returns: `false` when the outbox has no further event of a rule.
    private func publishNext() async throws(TrackingError) -> Bool {
        let (entries, through) = try await self.outbox.next(Self.reader, kinds: [.event], ownAlone: true, limit: 100)
        for entry in entries {
            do throws(TrackingError) {
                try await self.publish(try MessageCodec.decodeEvent(entry.payload.utf8), entry.trackable)
            } catch  where error.code == .notAuthorized {
                self.logger.warning(
                    "Event of a rule dropped: the broker's access rules do not let the gateway publish on the trackable's event topic. Grant the right with broker/add-gateway",
                    metadata: ["trackable": "\(entry.trackable)"])
            }
            try await self.outbox.advance(Self.reader, to: entry.place)
        }
        try await self.outbox.advance(Self.reader, to: through)
        return !entries.isEmpty
    }
}
