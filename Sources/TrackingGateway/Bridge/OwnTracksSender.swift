package import Logging
import ServiceLifecycle
import Synchronization
package import TrackingCore
import TrackingRuntime

/// Lets our positions out: hears them on one connection, and publishes on it what ``OwnTracksRepublisher`` makes of them.
package final class OwnTracksSender<Transport: MessageTransport>: Service {
    private let machine: Mutex<OwnTracksRepublisher>
    private let transport: Transport
    private let logger: Logger
    private let bad: BadMessages
    private let clock = DeviceClock()

    /// Makes a sender that hears nothing yet.
    ///
    /// - Parameter transport: The connection; it is run and closed by this sender.
    package init(
        configuration: OwnTracksRepublisher.Configuration, transport: Transport,
        logger: Logger = Logger(label: "godwit.bridge")
    ) {
        self.machine = Mutex(OwnTracksRepublisher(configuration))
        self.transport = transport
        self.logger = logger
        self.bad = BadMessages(logger: logger)
    }

    /// Runs until a graceful shutdown or cancellation. Call it once.
    ///
    /// - Throws: Why it will not be connected again, as `takenOver`.
    package func run() async throws {
        try await self.transport.run(beside: { try await self.listen() })
    }

    private func listen() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            for await events in self.transport.events {
                for event in events {
                    if case .disconnected(let lost) = event, lost.retry == nil, let reason = lost.reason {
                        throw reason
                    }
                    if case .subscribed = event { group.addTask { await self.compare() } }
                    self.deliver { $0.happened(event) }
                }
            }
        }
    }

    /// Compares what is out with what the broker keeps, once that is heard.
    private func compare() async {
        let connection = self.machine.withLock { $0.connection }
        guard (try? await Task.sleep(for: OwnTracksRepublisher.keptAfter)) != nil else { return }
        self.deliver { $0.receivedRetained(on: connection) }
    }

    /// Under the lock, so that what is asked of the connection goes out in order.
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
            self.logger.error("refused by the broker", metadata: ["topic": "\(topic)", "reason": "\(error)"])
        }
    }
}
