package import Logging
import ServiceLifecycle
package import TrackingCore
import TrackingRuntime

/// Lets our positions out: hears them on one connection, and publishes on it what ``OwnTracksRepublisher`` makes of them.
package final class OwnTracksSender<Transport: MessageTransport>: Service {
    private let configuration: OwnTracksRepublisher.Configuration
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
        self.configuration = configuration
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

    private func listen() async throws(TrackingError) {
        var machine = OwnTracksRepublisher(self.configuration)
        for await events in self.transport.events {
            for event in events {
                if case .disconnected(let lost) = event, lost.retry == nil, let reason = lost.reason { throw reason }
                for action in machine.happened(event) { self.perform(action) }
            }
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
