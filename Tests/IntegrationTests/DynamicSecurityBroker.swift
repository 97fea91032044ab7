import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// A Mosquitto with the dynamic security plugin, its administrator `admin`, and the user `root` with all rights.
final class DynamicSecurityBroker: Sendable {
    static let password = "a-test-password"

    let broker: MosquittoProcess
    let folder: URL

    init() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-dynsec-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "dynamic-security.json").path()
        try await ChildProcess.run("/usr/bin/mosquitto_ctrl", ["dynsec", "init", file, "admin", Self.password])
        try Self.password.write(to: folder.appending(path: "password"), atomically: true, encoding: .utf8)
        self.folder = folder
        self.broker = try await MosquittoProcess.start { port, _ in
            """
            listener \(port) 127.0.0.1
            allow_anonymous false
            plugin /usr/lib/x86_64-linux-gnu/mosquitto_dynamic_security.so
            plugin_opt_config_file \(file)
            """
        }
        try await ChildProcess.run(
            "/bin/sh",
            [
                "-ec",
                """
                ctrl() { mosquitto_ctrl -h 127.0.0.1 -p \(self.broker.port) -u admin -P \(Self.password) dynsec "$@"; }
                ctrl createRole all
                ctrl addRoleACL all publishClientSend '#' allow
                ctrl addRoleACL all subscribePattern '#' allow
                ctrl createClient root -p \(Self.password)
                ctrl addClientRole root all
                """,
            ])
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// The options of a program that issues credentials at this broker.
    var options: [String] {
        [
            "--credential-issuer", "dynsec", "--credential-control", "mqtt://admin@127.0.0.1:\(self.broker.port)",
            "--credential-password-file", self.folder.appending(path: "password").path(), "--broker",
            "mqtt://root:\(Self.password)@127.0.0.1:\(self.broker.port)", "--state",
            self.folder.appending(path: "state").path(),
        ]
    }

    /// Returns a client that signs in as a user.
    func client(_ user: String, _ password: String, id: String? = nil) throws -> MQTTClient {
        var configuration = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: self.broker.port)], client: try ClientID(id ?? user))
        configuration.credentials = MQTTCredentials(user: user, password: password)
        return try MQTTClient(configuration: configuration)
    }
}

/// A credential as `godwit credentials issue` and the gateway print it.
struct PrintedCredential: Decodable {
    var id: String
    var username: String
    var password: String
    var clientID: String
    var broker: String?
    var expires: Double
    var read: [String]
}

extension PrintedCredential {
    /// Checks that `godwit watch` gets the positions of `van` with these rights, and reports no rejection.
    ///
    /// - Parameter agent: The options with which the device connects to the broker.
    func checkWatching(port: Int, agent: [String]) async throws {
        let device = try Programs.start(
            "godwit-agent", ["run", "--trackable", "van", "--source", "simulate:", "--battery", "none"] + agent)
        let watch = try Programs.start(
            "godwit", ["watch", "van", "--broker", "mqtt://\(self.username)@127.0.0.1:\(port)"],
            environment: ["GODWIT_PASSWORD": self.password])
        try await watch.wait(for: " van location 52.6")
        let result = try await watch.end()
        #expect(result.code == 0 && !result.errors.contains("rejected"), "\(result.errors)")
        #expect(try await device.end().code == 0)
    }
}
