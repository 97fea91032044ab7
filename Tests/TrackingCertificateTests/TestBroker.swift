import TestSupport
import Testing
import TrackingCertificate
import TrackingCore
import TrackingMQTT

/// A broker on the loopback interface that a test certifies.
struct TestBroker: Sendable {
    let port: Int
    var second: Int?
    var credentials: MQTTCredentials?
    /// The MQTT version of clients that name none.
    var version: ConnectionStateMachine.Version?

    func certification() -> Certification<MQTTTransport> {
        Certification<MQTTTransport>(root: "godwit-certify", clusters: self.second != nil) {
            (client: CertificateClient) throws -> MQTTTransport in
            try MQTTTransport(configuration: self.configuration(for: client))
        }
    }

    private func configuration(for client: CertificateClient) -> MQTTConfiguration {
        let port = client.address == .second ? self.second ?? self.port : self.port
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: port)], client: client.id)
        configuration.version = client.version ?? self.version
        configuration.session = client.isKept ? .kept(for: .seconds(600)) : .clean
        configuration.withholdsAcknowledgements = client.withholdsAcknowledgements
        configuration.credentials = self.credentials
        if let will = client.will { configuration.will = { _ in will } }
        return configuration
    }

    /// Expects that the broker has neither a retained message of a certification nor a session of one of its clients.
    ///
    /// - Parameter log: The log of the broker, which names the clients.
    func expectNoTraces(_ log: String) async throws {
        let ids = Set(log.matches(of: /as (certify-[a-z0-9]+-[a-z0-9-]+)/).map { String($0.1) })
        #expect(ids.contains { $0.hasSuffix("-sweeper") }, "the log names no client of a certification: \(ids)")
        for id in ids {
            let events = try await self.events(id) { event in if case .connected = event { true } else { false } }
            #expect(events.contains(.connected(connection: 0, sessionPresent: false)), "\(id) has a session")
        }
        let marker = OutgoingMessage(topic: "godwit-certify/marker", payload: [1], isRetained: false)
        let commands: [TransportCommand] = [.subscribe(["godwit-certify/#"], 1), .publish(marker, 2)]
        // The retained messages come before the broker's copy of the marker.
        let events = try await self.events("inspector", commands) { event in
            if case .received(let message) = event { message.topic == marker.topic } else { false }
        }
        let topics = events.compactMap { if case .received(let message) = $0 { message.topic } else { nil } }
        #expect(topics == [marker.topic], "retained messages remain: \(topics)")
    }

    /// Returns the events of a client with a kept session until one matches. The client sends the commands after its
    /// connection.
    private func events(
        _ id: String, _ commands: [TransportCommand] = [], until matches: @escaping @Sendable (TransportEvent) -> Bool
    ) async throws -> [TransportEvent] {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: self.port)], client: try ClientID(id))
        configuration.session = .kept(for: .seconds(1))
        let transport = try MQTTTransport(configuration: configuration)
        let log = EventLog<TransportEvent>()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await transport.run() }
            group.addTask {
                for await batch in transport.events {
                    if batch.contains(where: { if case .connected = $0 { true } else { false } }) {
                        transport.send(commands)
                    }
                    log.append(batch)
                }
            }
            defer { group.cancelAll() }
            return try await log.wait("the last event of \(id)", where: matches)
        }
    }
}
