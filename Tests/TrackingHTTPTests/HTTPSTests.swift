import Foundation
import TestSupport
import Testing
import TrackingHTTP

/// HTTPS against the server of OpenSSL, with a certificate of its own.
@Suite(.timeLimit(.minutes(2))) struct HTTPSTests {
    private static let openssl = "/usr/bin/openssl"

    @Test func aServerWithAnUnknownCertificateIsRefused() async throws {
        let failure = await #expect(throws: HTTPClient.Failure.self) { try await self.exchange([]) }
        #expect(failure?.description.contains("certificate") == true, "\(String(describing: failure))")
    }

    @Test func tlsHasVersion12AtLeast() async throws {
        let failure = await #expect(throws: HTTPClient.Failure.self) { try await self.exchange(["-tls1_1"]) }
        #expect(failure?.description.contains("protocol") == true, "\(String(describing: failure))")
    }

    /// Sends a request to a new server with these options.
    private func exchange(_ options: [String]) async throws -> HTTPClient.Answer {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-https-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (key, certificate) = (folder.appending(path: "key.pem").path(), folder.appending(path: "cert.pem").path())
        try await ChildProcess.run(
            Self.openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                "/CN=127.0.0.1",
            ]
                + ["-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-keyout", key, "-out", certificate])
        let port = try LoopbackPort.free()
        let server = try ChildProcess(
            Self.openssl,
            ["s_server", "-accept", "127.0.0.1:\(port)", "-key", key, "-cert", certificate, "-www", "-quiet"]
                + ["-cipher", "ALL:@SECLEVEL=0"] + options, output: "/dev/null")
        let deadline = ContinuousClock.now + .seconds(60)
        while !LoopbackPort.accepts(port) {
            try #require(ContinuousClock.now < deadline, "the server does not listen")
            try await Task.sleep(for: .milliseconds(20))
        }
        defer { withExtendedLifetime(server) {} }
        return try await HTTPClient().exchange(
            HTTPClient.Request("https://127.0.0.1:\(port)/"), within: .seconds(60), upTo: 100_000)
    }
}
