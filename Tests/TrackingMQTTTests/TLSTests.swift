import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// TLS with a real broker: each kind of failure has its own error, and a valid certificate is accepted.
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
    /// Certificates of one test, made by openssl: two authorities that do not know each other, a server's certificate for
    /// `localhost`, one for another host, one that has expired, and a client's.
    private final class Certificates: Sendable {
        let folder: URL

        init() async throws {
            self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-tls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
            let script = """
                cd '\(self.folder.path())'
                key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
                for ca in ca other; do
                    openssl req -x509 $key -keyout $ca.key -out $ca.crt -subj "/CN=$ca" -days 10
                done
                touch index; echo 'unique_subject = no' >index.attr; echo 1000 >serial
                printf '%s\\n' '[ca]' 'default_ca = c' '[c]' 'database = index' 'serial = serial' 'new_certs_dir = .' \\
                    'default_md = sha256' 'policy = p' 'private_key = ca.key' 'certificate = ca.crt' \\
                    'copy_extensions = copy' '[p]' 'commonName = supplied' >ca.cnf
                make() {
                    openssl req $key -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" -addext "subjectAltName=$2"
                    openssl ca -batch -notext -config ca.cnf -in "$1.csr" -out "$1.crt" -startdate "$3" -enddate "$4"
                }
                past=20200101000000Z now=$(date -u -d '1 day ago' +%Y%m%d%H%M%SZ) then=$(date -u -d '9 days' +%Y%m%d%H%M%SZ)
                make right 'DNS:localhost,IP:127.0.0.1' $now $then
                make elsewhere 'DNS:broker.example' $now $then
                make expired 'DNS:localhost,IP:127.0.0.1' $past 20200201000000Z
                make van-7 'DNS:van-7' $now $then
                """
            try await ChildProcess.run("/bin/sh", ["-ec", script])
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func path(_ name: String) -> String { self.folder.appending(path: name).path() }

        func broker(_ server: String, lines: [String] = []) async throws -> MosquittoProcess {
            try await MosquittoProcess.start { port, _ in
                ([
                    "listener \(port) 127.0.0.1", "certfile \(self.path("\(server).crt"))",
                    "keyfile \(self.path("\(server).key"))",
                ] + lines).joined(separator: "\n")
            }
        }

        /// A broker that accepts clients with a certificate, under the name in it.
        func demandingBroker() async throws -> MosquittoProcess {
            try await self.broker(
                "right",
                lines: [
                    "cafile \(self.path("ca.crt"))", "require_certificate true", "use_identity_as_username true",
                ])
        }

        /// Starts a server that sends bytes to each client within TLS, once the client has sent something.
        func lyingServer(on port: Int, sending bytes: [UInt8]) async throws -> ChildProcess {
            let script = """
                import socket, ssl
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain('\(self.path("right.crt"))', '\(self.path("right.key"))')
                listener = socket.create_server(('127.0.0.1', \(port)))
                while True:
                    try:
                        client = context.wrap_socket(listener.accept()[0], server_side=True)
                        client.recv(4096)
                        client.sendall(bytes(\(bytes)))
                        while client.recv(4096): pass
                    except OSError: pass
                """
            let server = try ChildProcess("/usr/bin/python3", ["-c", script], output: "/dev/null")
            let deadline = ContinuousClock.now + .seconds(60)
            while !LoopbackPort.accepts(port) {
                try #require(ContinuousClock.now < deadline, "the server does not listen")
                try await Task.sleep(for: .milliseconds(20))
            }
            return server
        }

        func configuration(
            _ broker: MosquittoProcess, host: String = "localhost", authority: String? = "ca", client: String? = nil
        ) throws -> MQTTConfiguration {
            var configuration = try TestClient.configuration("van-7", port: broker.port)
            configuration.endpoints = [MQTTEndpoint(host: host, port: broker.port, isTLS: true)]
            configuration.tls = MQTTConfiguration.TLS(
                authorities: authority.map { self.path("\($0).crt") },
                certificate: client.map { self.path("\($0).crt") },
                key: client.map { self.path("\($0).key") })
            return configuration
        }
    }

    private func reason(_ configuration: MQTTConfiguration) async throws -> TrackingError {
        try await TestClient.with(configuration) { client in
            let end = try await client.disconnection()
            #expect(end.lasted == nil, "no connection was made")
            #expect(end.retry != nil, "a renewed certificate is found by itself")
            return try #require(end.reason)
        }
    }

    @Test(arguments: ["localhost", "127.0.0.1"]) func theRightCertificateIsAccepted(host: String) async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.broker("right", lines: ["allow_anonymous true"])
        try await TestClient.with(certificates.configuration(broker, host: host)) { client in
            try await client.connected()
            try await client.subscribe(["a"])
            #expect(try await client.publish([OutgoingMessage("a", String(repeating: "x", count: 100_000))]) == [nil])
            #expect(try await client.messages(1).first?.payload.count == 100_000)
        }
    }

    @Test func anExpiredCertificateIsNamed() async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.broker("expired")
        let reason = try await self.reason(certificates.configuration(broker))
        #expect(reason.code == .certificateExpired)
        #expect(reason.message.contains("expired"))
    }

    @Test(arguments: ["localhost", "127.0.0.1"]) func aCertificateForAnotherHostIsNamed(host: String) async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.broker("elsewhere")
        let reason = try await self.reason(certificates.configuration(broker, host: host))
        #expect(reason.code == .certificateHostMismatch)
        #expect(reason.message.contains(host))
    }

    @Test(arguments: ["other", nil]) func anUnknownAuthorityIsNamed(authority: String?) async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.broker("right")
        let reason = try await self.reason(certificates.configuration(broker, authority: authority))
        #expect(reason.code == .certificateUnknownAuthority)
    }

    @Test func aMissingClientCertificateIsNamed() async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.demandingBroker()
        try await TestClient.with(certificates.configuration(broker)) { client in
            // A connection that is reset before the server's alert was read has a vaguer error. The next one reads the alert.
            let end = try await client.disconnection("the alert") { $0.reason?.code == .tlsFailed }
            #expect(end.lasted == nil && end.retry != nil)
            #expect(end.reason?.message.contains("certificate required") == true, "\(end)")
        }
    }

    @Test func aClientCertificateIsAccepted() async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.demandingBroker()
        try await TestClient.with(certificates.configuration(broker, client: "van-7")) { client in
            try await client.connected()
            #expect(try await client.publish([OutgoingMessage("a", "x")]) == [nil])
        }
        #expect(broker.log.contains("u'van-7'"), "the name in the certificate is the user")
    }

    @Test func aBrokerWithoutTLSIsNamed() async throws {
        let certificates = try await Certificates()
        let broker = try await MosquittoProcess.start()
        var configuration = try certificates.configuration(broker)
        configuration.connectTimeout = .seconds(2)
        let reason = try await self.reason(configuration)
        #expect(reason.code == .tlsFailed || reason.code == .brokerUnreachable, "\(reason)")
    }

    @Test func aPortWithoutAListenerIsNamedUnreachable() async throws {
        let certificates = try await Certificates()
        let broker = try await MosquittoProcess.start()
        try await broker.stop()
        let reason = try await self.reason(certificates.configuration(broker))
        #expect(reason.code == .brokerUnreachable)
        #expect(reason.message.contains("no program listens there"), "\(reason)")
    }

    @Test func aBrokerThatRequiresTLSNamesTheAddressScheme() async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.broker("right", lines: ["allow_anonymous true"])
        let configuration = try TestClient.configuration("van-7", port: broker.port)
        try await TestClient.with(configuration) { client in
            let end = try await client.disconnection("MQTT 3.1.1") { $0.reason?.message.contains("mqtts") == true }
            #expect(end.reason?.code == .brokerUnreachable)
        }
    }

    /// Damage on the way is found by TLS itself; what a broker sends is checked as without TLS.
    @Test(arguments: [
        ([0x00, 0x00] as [UInt8], "packet type 0"), (MalformedPacketTests.unknownProperty, "property 123"),
    ]) func aMalformedPacketWithinTLSEndsTheConnection(_ packet: [UInt8], _ reason: String) async throws {
        let certificates = try await Certificates()
        let port = try LoopbackPort.free()
        let server = try await certificates.lyingServer(on: port, sending: FakeBroker.accepts5 + packet)
        defer { server.signal(SIGKILL) }
        var configuration = try TestClient.configuration("van-7", port: port)
        configuration.endpoints = [MQTTEndpoint(host: "localhost", port: port, isTLS: true)]
        configuration.tls = MQTTConfiguration.TLS(authorities: certificates.path("ca.crt"))
        try await TestClient.with(configuration) { client in
            let lost = try await client.disconnection { $0.reason?.message.contains(reason) == true }
            #expect(lost.retry != nil)
        }
    }

    @Test func aKeyThatDoesNotFitIsNamed() async throws {
        let certificates = try await Certificates()
        let broker = try await certificates.demandingBroker()
        var configuration = try certificates.configuration(broker, client: "van-7")
        configuration.tls.key = certificates.path("right.key")
        let reason = try await self.reason(configuration)
        #expect(reason.code == .tlsFailed)
        #expect(reason.message.contains("key"))
    }
}
