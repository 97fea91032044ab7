package import Logging
import ServiceLifecycle
import Synchronization
package import TrackingCore
import TrackingRuntime

/// Publishes positions of Godwit's trackables on OwnTracks' topics and announces trackables to Home Assistant, as
/// ``OwnTracksRepublisher`` decides. Receives the positions on the same connection.
package final class OwnTracksSender<Transport: MessageTransport>: Service {
    private let machine: Mutex<OwnTracksRepublisher>
    private let transport: Transport
    private let failsFast: Bool
    private let logger: Logger
    private let bad: BadMessages
    private let clock = DeviceClock()

    /// Creates a sender of positions for OwnTracks and Home Assistant, which is not connected to the broker yet.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the republishing.
    ///   - transport: The connection to the broker. The sender runs and closes it.
    ///   - failsFast: `true` to end with an error when the broker cannot be reached at any of its addresses, at the
    ///     start or after a lost connection.
    ///   - logger: The logger for refusals and invalid messages.
    package init(
        configuration: OwnTracksRepublisher.Configuration, transport: Transport, failsFast: Bool = false,
        logger: Logger = Logger(label: "godwit.bridge")
    ) {
        self.machine = Mutex(OwnTracksRepublisher(configuration))
        self.transport = transport
        self.failsFast = failsFast
        self.logger = logger
        self.bad = BadMessages(logger: logger)
    }

    /// Republishes positions until a graceful shutdown or cancellation. Call it once.
    ///
    /// - Throws: `takenOver` when the broker reports that another program uses the client id; the reason for which the
    ///   connection ended for good, or for which it could not be made if the sender is to fail fast.
    package func run() async throws {
        try await self.transport.run(beside: { try await self.listen() })
    }

    private func listen() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for await events in self.transport.events {
                for event in events {
                    if case .disconnected(let lost) = event,
                        let error = lost.endingError(failsFast: self.failsFast)
                    {
                        throw error
                    }
                    if case .subscribed = event { group.addTask { await self.compare() } }
                    self.deliver { $0.happened(event) }
                }
            }
        }
    }

    /// Waits until the retained messages have arrived. Then clears the messages that the bridge republished for
    /// trackables that no longer have a retained position.
    private func compare() async {
        let connection = self.machine.withLock { $0.connection }
        guard (try? await Task.sleep(for: OwnTracksRepublisher.keptAfter)) != nil else { return }
        self.deliver { $0.receivedRetained(on: connection) }
    }

    /// Performs the actions that the closure returns, such as sending commands to the broker. The closure and the
    /// actions run under one lock, so that commands are sent in the order of the decisions.
    private func deliver(_ happened: (inout OwnTracksRepublisher) -> [OwnTracksRepublisher.Action]) {
        self.machine.withLock { machine in
            for action in happened(&machine) { self.perform(action) }
        }
    }

    private func perform(_ action: OwnTracksRepublisher.Action) {
        switch action {
        case .send(let commands): self.transport.send(commands)
        case .skipped(let topic, let error): self.bad.skipped(topic, error, now: self.clock.moment.now)
        case .refused(let topic, let error):
            self.logger.error(
                "Broker does not let the OwnTracks bridge publish on or subscribe to a topic: the bridge passes on no messages of this topic. Grant the right with broker/add-bridge",
                metadata: ["topic": "\(topic)", "reason": "\(error)"])
        }
    }
}
