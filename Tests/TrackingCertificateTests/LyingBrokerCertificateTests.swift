import TestSupport
import Testing
import TrackingCertificate
import TrackingCore
import TrackingTesting

/// Certificates of a broker that lies: each lie is found and named.
@Suite(.timeLimit(.minutes(5))) struct LyingBrokerCertificateTests {
    @Test(arguments: [
        (BrokerLie.losesAcknowledged(every: 500), CertificateCheck.acknowledged, "acknowledged messages lost"),
        (.reorders, .order, "out of order: "),
        (.ignoresShare, .share, "ignored: the members received 200 messages of 100"),
        (.losesRetained(every: 5), .retained, "4 of 20 lost"),
        (.losesRetained(every: 1), .retained, "none delivered"),
    ])
    func eachLieIsFoundAndNamed(lie: BrokerLie, check: CertificateCheck, result: String) async throws {
        let broker = try await MosquittoProcess.startPersistent()
        let proxy = try LyingProxy(to: broker.port, lie: lie)
        let certificate = try await TestBroker(port: proxy.port).certification().certify()
        let finding = certificate.findings.first { $0.check == check }
        #expect(finding?.verdict == (check.isRequired ? .failed : .lacking), "\(certificate.findings)")
        #expect(finding?.result.contains(result) == true, "\(certificate.findings)")
        #expect(finding?.consequence != nil)
        #expect(certificate.isUsable == !check.isRequired)
        try await TestBroker(port: broker.port).expectNoTraces(broker.log)
        withExtendedLifetime(proxy) {}
    }

    @Test func aBrokerThatNeverClearsFailsAndItsTopicsAreNamed() async throws {
        let broker = try await MosquittoProcess.start()
        let proxy = try LyingProxy(to: broker.port, lie: .neverClears)
        let certification = TestBroker(port: proxy.port).certification()
        let certificate = try await certification.certify()
        let failed = certificate.findings.filter { $0.verdict == .failed }
        #expect(failed.map(\.check) == [.clearing] && failed.first?.result == "20 of 20 still delivered")
        #expect(certification.remainingTopics?.hasSuffix("/#") == true && certification.remainingClients.isEmpty)
        withExtendedLifetime(proxy) {}
    }

    /// The broker grants the first subscription, and closes the connection at the message that follows.
    @Test func aBrokerThatClosesAtAForbiddenMessageLacksTheRight() async throws {
        let suback: [UInt8] = [0x90, 4, 0, 1, 0, 1]
        let broker = try LyingBroker { _ in [.receive, .send(suback), .receive, .close] }
        await #expect { try await TestBroker(port: broker.port).certification().certify() } throws: {
            let error = $0 as? TrackingError
            return error?.code == .notAuthorized && error?.message.contains("godwit-certify/#") == true
        }
        withExtendedLifetime(broker) {}
    }

    /// The proxy itself changes nothing else: its lie is the only finding.
    @Test func aLieThatDoesNotHappenIsNotFound() async throws {
        let broker = try await MosquittoProcess.startPersistent()
        let proxy = try LyingProxy(to: broker.port, lie: .losesAcknowledged(every: .max))
        let findings = try await TestBroker(port: proxy.port).certification().certify().findings
        let lacking = findings.filter { ![.passed, .untried].contains($0.verdict) }
        // Mosquitto itself lacks this property.
        #expect(lacking.map(\.check) == [.reasons], "\(findings)")
        withExtendedLifetime(proxy) {}
    }
}
