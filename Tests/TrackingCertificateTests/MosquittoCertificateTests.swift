import Foundation
import TestSupport
import Testing
import TrackingCertificate
import TrackingCore
import TrackingMQTT

/// Certificates of real Mosquitto brokers.
@Suite(.timeLimit(.minutes(5))) struct MosquittoCertificateTests {
    /// Mosquitto 2.0.11 ends a taken-over connection without a DISCONNECT.
    private static let lacking: [CertificateCheck] = [.reasons]
    private static let cluster: [CertificateCheck] = [
        .elsewhere, .retainedElsewhere, .takeoverElsewhere, .sessionElsewhere,
    ]

    private func checks(_ certificate: Certificate, _ verdict: CertificateFinding.Verdict) -> [CertificateCheck] {
        certificate.findings.filter { $0.verdict == verdict }.map(\.check)
    }

    @Test func mosquittoHasWhatGodwitRequiresAndNothingRemainsOnIt() async throws {
        let broker = try await MosquittoProcess.startPersistent()
        let certificate = try await TestBroker(port: broker.port).certification().certify()
        #expect(certificate.isUsable)
        #expect(self.checks(certificate, .lacking) == Self.lacking, "\(certificate.findings)")
        #expect(self.checks(certificate, .untried) == Self.cluster)
        try await TestBroker(port: broker.port).expectNoTraces(broker.log)
    }

    @Test func bothAddressesOfOneBrokerAreACluster() async throws {
        let broker = try await MosquittoProcess.start()
        let certification = TestBroker(port: broker.port, second: broker.port).certification()
        let certificate = try await certification.certify()
        #expect(certificate.isUsable)
        #expect(self.checks(certificate, .lacking) == Self.lacking, "\(certificate.findings)")
        #expect(self.checks(certificate, .untried).isEmpty)
    }

    @Test func twoBrokersAreNoCluster() async throws {
        let broker = try await MosquittoProcess.start()
        let other = try await MosquittoProcess.start()
        let certificate = try await TestBroker(port: broker.port, second: other.port).certification().certify()
        #expect(!certificate.isUsable)
        #expect(self.checks(certificate, .failed) == [.elsewhere])
        #expect(self.checks(certificate, .lacking) == Self.lacking + Self.cluster.dropFirst())
        try await TestBroker(port: other.port).expectNoTraces(other.log)
    }

    @Test func theStockLimitsOfMosquittoDropQueuedMessages() async throws {
        let broker = try await MosquittoProcess.start { port, _ in "listener \(port) 127.0.0.1\nallow_anonymous true" }
        let certificate = try await TestBroker(port: broker.port).certification().certify()
        let queue = certificate.findings.first { $0.check == .queue }
        #expect(queue?.verdict == .lacking && queue?.result.contains("acknowledged messages lost") == true)
        #expect(certificate.isUsable)
    }

    @Test func aBrokerWithOneConnectionForAUserIsNotCertified() async throws {
        let broker = try await MosquittoProcess.start { port, _ in
            "listener \(port) 127.0.0.1\nallow_anonymous true\nuse_username_as_clientid true"
        }
        var test = TestBroker(port: broker.port)
        test.credentials = MQTTCredentials(user: "me", password: "secret")
        await #expect { try await test.certification().certify() } throws: {
            ($0 as? TrackingError)?.code == .takenOver && !"\($0)".contains("secret")
        }
    }

    @Test func aCancelledCertificationRemovesItsTraces() async throws {
        let broker = try await MosquittoProcess.startPersistent()
        let certification = TestBroker(port: broker.port).certification()
        let task = Task { try await certification.certify() }
        try await broker.waitForLog("retained/19")
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        try await TestBroker(port: broker.port).expectNoTraces(broker.log)
    }

    @Test func aBrokerThatDiesIsNotJudgedAndMayHaveTraces() async throws {
        let broker = try await MosquittoProcess.start()
        let certification = TestBroker(port: broker.port).certification()
        let task = Task { try await certification.certify() }
        try await broker.waitForLog("retained/19")
        try await broker.kill()
        await #expect { try await task.value } throws: { ($0 as? TrackingError)?.code == .brokerUnreachable }
        #expect(certification.remainingTopics?.hasSuffix("/#") == true)
        let endings = certification.remainingClients.map { $0.rawValue.split(separator: "-").last }
        #expect(endings == ["absent", "recorder"])
    }

    @Test func aSecondAddressThatCannotBeReachedIsAnError() async throws {
        let broker = try await MosquittoProcess.start()
        let test = TestBroker(port: broker.port, second: try LoopbackPort.free())
        await #expect { try await test.certification().certify() } throws: {
            ($0 as? TrackingError)?.code == .brokerUnreachable
        }
    }

    /// Mosquitto refuses a forbidden message on MQTT 5, and drops it on MQTT 3.1.1. It grants a forbidden subscription.
    @Test(
        arguments: [
            ("topic read #", nil), ("topic read #", .v311), ("topic write #", nil),
        ] as [(String, ConnectionStateMachine.Version?)])
    func aUserWithoutARightIsAnError(rule: String, version: ConnectionStateMachine.Version?) async throws {
        let broker = try await MosquittoProcess.start { port, directory in
            let access = directory.appending(path: "acl")
            try Data("\(rule)\n".utf8).write(to: access)
            return "listener \(port) 127.0.0.1\nallow_anonymous true\nacl_file \(access.path())"
        }
        var test = TestBroker(port: broker.port)
        test.version = version
        let certification = test.certification()
        await #expect { try await certification.certify() } throws: {
            let error = $0 as? TrackingError
            return error?.code == .notAuthorized && error?.message.contains("the right") == true
        }
        #expect(certification.remainingTopics == nil && certification.remainingClients.isEmpty)
    }

    @Test func aBrokerWithoutRetainedMessagesIsUsable() async throws {
        let broker = try await MosquittoProcess.start(extra: ["retain_available false"])
        let certification = TestBroker(port: broker.port).certification()
        let certificate = try await certification.certify()
        #expect(certificate.isUsable)
        #expect(self.checks(certificate, .lacking) == [.retained, .wildcard] + Self.lacking, "\(certificate.findings)")
        #expect(self.checks(certificate, .untried) == [.clearing] + Self.cluster)
        #expect(certification.remainingTopics == nil)
    }

    @Test func aBrokerThatCannotBeReachedIsAnError() async throws {
        let test = TestBroker(port: try LoopbackPort.free())
        await #expect { try await test.certification().certify() } throws: {
            ($0 as? TrackingError)?.code == .brokerUnreachable
        }
    }
}
