public import Foundation
import Glibc
import Synchronization

/// A private RabbitMQ node with the plugins for MQTT, OAuth 2 and management, on free ports of 127.0.0.1. It has an
/// Erlang port mapper of its own, and is removed when the last reference to this object is released.
///
/// A start takes about ten seconds, so the tests of a suite share a node.
public final class RabbitMQServer: Sendable {
    /// The key with which tokens are signed.
    public static let key = "0123456789abcdef0123456789abcdef"
    /// The password of the user `admin`, which may do everything.
    public static let password = "a-test-password"
    /// `true` if RabbitMQ is installed.
    public static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: Self.program) }

    private static let program = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    /// The port for MQTT.
    public let port: Int
    /// The port of the management API.
    public let managementPort: Int
    /// The folder of the node, with its log. It is removed with the node.
    public let directory: URL

    private let distributionPort: Int
    private let mapperPort: Int
    private let processes = Mutex<[ChildProcess]>([])

    /// Starts a node, and returns when it accepts MQTT connections and answers on its management API.
    ///
    /// - Throws: `TestSupportError` with the log of the node.
    public static func start() async throws -> RabbitMQServer {
        let server = try RabbitMQServer()
        try await server.launch()
        return server
    }

    private init() throws {
        let ports = try (0..<4).map { _ in try LoopbackPort.free() }
        (self.port, self.managementPort) = (ports[0], ports[1])
        (self.distributionPort, self.mapperPort) = (ports[2], ports[3])
        self.directory = FileManager.default.temporaryDirectory.appending(path: "godwit-rabbit-\(UUID().uuidString)")
        for name in ["mnesia", "log"] {
            try FileManager.default.createDirectory(
                at: self.directory.appending(path: name), withIntermediateDirectories: true)
        }
        try self.write(
            """
            listeners.tcp = none
            mqtt.listeners.tcp.1 = 127.0.0.1:\(self.port)
            mqtt.allow_anonymous = false
            management.tcp.ip = 127.0.0.1
            management.tcp.port = \(self.managementPort)
            auth_backends.1 = rabbit_auth_backend_oauth2
            auth_backends.2 = rabbit_auth_backend_internal
            auth_oauth2.resource_server_id = rabbitmq
            default_user = admin
            default_pass = \(Self.password)
            log.console = true
            log.file = false

            """, to: "rabbitmq.conf")
        try self.write(
            """
            [{rabbitmq_auth_backend_oauth2, [{key_config, [{default_key, <<"godwit">>}, {signing_keys, #{<<"godwit">> =>
              {map, #{<<"kty">> => <<"oct">>, <<"alg">> => <<"HS256">>, <<"k">> => <<"\(Self.encodedKey)">>}}}}]}]}].

            """, to: "advanced.config")
        try self.write(
            "[rabbitmq_mqtt,rabbitmq_auth_backend_oauth2,rabbitmq_management].\n", to: "enabled_plugins")
        try self.write(Self.key, to: "token-key")
        try self.write(Self.password, to: "password")
    }

    deinit {
        // The script of the node starts Erlang as another process, which writes its id into this file.
        let file = self.directory.appending(path: "pid")
        if let text = try? String(contentsOf: file, encoding: .utf8),
            let id = Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)), id > 1
        {
            Glibc.kill(id, SIGKILL)
        }
        for process in self.processes.withLock({ $0 }) { process.signal(SIGKILL) }
        try? FileManager.default.removeItem(at: self.directory)
    }

    /// The log of the node so far.
    public var log: String {
        (try? String(contentsOf: self.directory.appending(path: "output.log"), encoding: .utf8)) ?? ""
    }

    private static var encodedKey: String {
        Data(Self.key.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }

    private func write(_ text: String, to name: String) throws {
        try text.write(to: self.directory.appending(path: name), atomically: true, encoding: .utf8)
    }

    private func path(_ name: String) -> String { self.directory.appending(path: name).path() }

    private func launch() async throws {
        let environment = [
            "HOME": self.directory.path(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": "\(self.mapperPort)", "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "godwit-test@localhost", "RABBITMQ_DIST_PORT": "\(self.distributionPort)",
            "RABBITMQ_MNESIA_BASE": self.path("mnesia"), "RABBITMQ_LOG_BASE": self.path("log"),
            "RABBITMQ_CONFIG_FILE": self.path("rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": self.path("advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": self.path("enabled_plugins"), "RABBITMQ_PID_FILE": self.path("pid"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        ]
        // With a port mapper of its own, the node starts none that would outlive the test.
        let mapper = try ChildProcess(
            "/usr/bin/epmd", ["-port", "\(self.mapperPort)", "-address", "127.0.0.1"], environment: environment,
            output: self.path("mapper.log"))
        self.processes.withLock { $0.append(mapper) }
        try await self.wait("start its port mapper") { LoopbackPort.accepts(self.mapperPort) || !mapper.isRunning }
        let node = try ChildProcess(Self.program, [], environment: environment, output: self.path("output.log"))
        self.processes.withLock { $0.append(node) }
        try await self.wait("accept connections") {
            !node.isRunning || (LoopbackPort.accepts(self.port) && LoopbackPort.accepts(self.managementPort))
        }
        try await self.wait("complete its start") { !node.isRunning || self.log.contains("Server startup complete") }
        guard node.isRunning else { throw TestSupportError("RabbitMQ ended right after its start: \(self.log)") }
    }

    private func wait(_ what: String, until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("RabbitMQ did not \(what) within 120 s: \(self.log)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
