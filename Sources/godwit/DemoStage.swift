import Foundation
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingRuntime
import TrackingSubscriber

/// The child programs of `godwit demo`, a private broker and an agent, and the folder for their files.
final class DemoStage: Sendable {
    static let trackable = "courier-1"
    /// The destination of the courier, `LATITUDE,LONGITUDE` in degrees: one of the simulated customers.
    static let destination = "52.67180,-8.64350"

    let port: Int
    private let folder: URL
    private let children = Mutex<[Process]>([])
    private let selections = Mutex<[String]>([])

    /// Creates the folder and starts the private broker on a free port of the loopback interface.
    ///
    /// - Throws: `inputUnreadable` if Mosquitto is not installed or no port is free.
    init() throws {
        let program = try Self.find("mosquitto", beside: ["/usr/sbin", "/usr/local/sbin"])
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.port = try Self.freePort()
        let configuration = """
            listener \(self.port) 127.0.0.1
            allow_anonymous true
            max_inflight_messages 500
            max_queued_messages 100000
            """
        let file = self.folder.appending(path: "mosquitto.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        try self.start(program, ["-c", file.path(percentEncoded: false)], output: FileHandle.nullDevice)
        self.setBattery(80)
    }

    /// The address (URL) of the private broker.
    var address: String { "mqtt://127.0.0.1:\(self.port)" }

    private func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }

    /// Writes the charge of the simulated battery, in percent, to the file that the agent reads.
    func setBattery(_ percent: Int) {
        try? "\(percent)\n".write(to: self.folder.appending(path: "battery"), atomically: true, encoding: .utf8)
    }

    /// Reports changes of ``selectedSource`` and of the observations.
    let changes = WakeSignal()

    /// The source that the agent opened last, according to its log.
    var selectedSource: String? { self.selections.withLock { $0.last } }

    /// Starts the agent with a coarse and a fine source, a destination and thresholds.
    func startAgent() throws {
        let own = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path(percentEncoded: false)
        let program = try Self.find("godwit-agent", beside: [own, Self.ownFolder])
        let log = Pipe()
        log.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let text = String(decoding: handle.availableData, as: UTF8.self)
            if text.isEmpty { return handle.readabilityHandler = nil }
            for line in text.split(separator: "\n") where line.contains("Position source selected") {
                self?.selections.withLock { $0.append(line.contains("HIGH") ? "HIGH" : "BALANCED") }
                self?.changes.notify()
            }
        }
        try self.start(
            program,
            [
                "run", "--trackable", Self.trackable, "--broker", self.address, "--client-id", "demo-agent",
                "--source", "simulate:#accuracy=BALANCED", "--source", "simulate:#accuracy=HIGH", "--speed", "6",
                "--destination", Self.destination, "--proximity", "200", "--battery",
                "file:\(self.path("battery"))", "--battery-threshold", "20",
                "--low-battery-multiplier", "5", "--resolution-far", "BALANCED/30000/0", "--resolution-far-watched",
                "BALANCED/10000/0", "--resolution-near", "BALANCED/10000/0", "--resolution-near-watched", "HIGH/500/0",
                "--log-level", "info", "--spool", self.path("spool.sqlite"),
            ], output: log)
    }

    /// Makes a subscriber at the private broker. A silent one is not counted as a subscriber.
    func subscriber(_ name: String, isSilent: Bool) throws -> AssetSubscriber<MQTTTransport> {
        let client = try ClientID(name)
        var generator = SystemRandomNumberGenerator()
        var configuration = SubscriberConfiguration(client: client, session: .random(using: &generator))
        configuration.isSilent = isSilent
        let connection = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: self.port)], for: configuration)
        return AssetSubscriber(configuration: configuration, transport: try MQTTTransport(configuration: connection))
    }

    /// Ends the broker and the agent, and removes the folder.
    func end() {
        for child in self.children.withLock({ $0.reversed() }) where child.isRunning {
            child.terminate()
            child.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: self.folder)
    }

    // MARK: - Programs and ports

    private func start(_ program: String, _ arguments: [String], output: Any) throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = self.environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = output
        try Self.withoutBlockedSignals { try process.run() }
        self.children.withLock { $0.append(process) }
    }

    /// The environment of child programs: without the user's Godwit options, and with a folder of its own for the
    /// agent's socket. If the path is too long for a socket, the agent runs without one.
    private var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GODWIT_") }
            .merging(["XDG_RUNTIME_DIR": self.path("")]) { $1 }
    }

    /// Runs `start` with no signal blocked on this thread. A child program inherits blocked signals, and the threads of
    /// the concurrency runtime block SIGTERM, with which the child is ended.
    private static func withoutBlockedSignals(_ start: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try start()
    }

    private static var ownFolder: String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    }

    private static func find(_ name: String, beside folders: [String]) throws -> String {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in folders + path {
            let candidate = URL(filePath: folder).appending(path: name).path(percentEncoded: false)
            if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
        }
        let advice =
            name == "mosquitto"
            ? "Install it with: apt-get install mosquitto" : "Build it with: swift build"
        throw TrackingError(.inputUnreadable, "cannot find the program '\(name)' in PATH. \(advice)")
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 ? getsockname(descriptor, address, &size) : -1
            }
        }
        guard result == 0 else {
            throw TrackingError(
                .inputUnreadable, "cannot find a free port on the loopback interface for the demo's broker")
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
