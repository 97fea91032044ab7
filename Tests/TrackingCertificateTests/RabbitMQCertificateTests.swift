import TestSupport
import Testing
import TrackingCertificate
import TrackingMQTT

/// The certificate of a real RabbitMQ 3.10, one node.
@Suite(.enabled(if: RabbitMQServer.isInstalled, "scripts/setup-tests installs RabbitMQ"), .timeLimit(.minutes(5)))
struct RabbitMQCertificateTests {
    @Test func rabbitMQHasWhatGodwitRequiresAndLacksOtherProperties() async throws {
        let node = try await RabbitMQServer.start()
        var broker = TestBroker(port: node.port)
        broker.credentials = MQTTCredentials(user: "admin", password: RabbitMQServer.password)
        let certificate = try await broker.certification().certify()
        let lacking = certificate.findings.filter { ![.passed, .untried].contains($0.verdict) }
        #expect(lacking.map(\.check) == [.wildcard, .share, .mqtt5], "\(certificate.findings)")
        #expect(lacking.allSatisfy { $0.verdict == .lacking && $0.consequence != nil })
        #expect(certificate.isUsable)
    }
}
