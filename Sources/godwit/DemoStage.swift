import Foundation
import Synchronization
import TrackingCore
import TrackingMQTT
import TrackingRuntime
import TrackingStore
import TrackingSubscriber
import TrackingTesting

/// The child programs of `godwit demo` (a private broker, an agent and a gateway), and the folder for their files.
final class DemoStage: Sendable {
    static let trackable = "courier-1"
    /// The destination of the simulated courier, `LATITUDE,LONGITUDE` in degrees.
    static let destination = "52.67180,-8.64350"

    let port: Int
    private let folder: URL
    private let children = Mutex<[Process]>([])
    /// The simulated network of the van: a proxy between the agent and the broker, which can cut the connection.
    private let network: FaultProxy
    private let selections = Mutex<[String]>([])

    /// Creates the folder for the demo's files, and starts the private broker on the loopback interface.
    ///
    /// - Parameter port: The port of the broker; 0 for a free one.
    /// - Throws: `inputUnreadable` if Mosquitto is not installed or the port is not free.
    init(port: UInt16) throws {
        let program = try Self.find("mosquitto", beside: ["/usr/sbin", "/usr/local/sbin"])
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-demo-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.port = try Self.freePort(port)
        self.network = try FaultProxy(to: self.port)
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

    /// The URL of the demo's private broker.
    var address: String { "mqtt://127.0.0.1:\(self.port)" }

    func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }

    /// Sets the charge of the simulated battery, in percent. The agent reads it from a file.
    func setBattery(_ percent: Int) {
        try? "\(percent)\n".write(to: self.folder.appending(path: "battery"), atomically: true, encoding: .utf8)
    }

    /// The signal that wakes tasks which wait for the effect of a step. It is given when ``selectedSource`` changes,
    /// and when the demo's observer receives an event.
    let changes = WakeSignal()

    /// The accuracy class of the position source that the agent selected last, according to its log: `HIGH` or
    /// `BALANCED`; `nil` before the first selection.
    var selectedSource: String? { self.selections.withLock { $0.last } }

    /// The two forms of `godwit demo`: a script of checked steps, and a story for a terminal.
    enum Form {
        /// The script: the simulated courier drives to a destination at six times the real speed.
        case script
        /// The story for a terminal: a van drives at its real speed without a destination, and its network can be cut.
        case story
    }

    /// Starts the agent with the options for a form of the demo. The agent has a coarse and a fine source of positions,
    /// and a battery threshold of 20 %.
    func startAgent(for form: Form) throws {
        let log = Pipe()
        log.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let text = String(decoding: handle.availableData, as: UTF8.self)
            if text.isEmpty { return handle.readabilityHandler = nil }
            for line in text.split(separator: "\n") where line.contains("Position source selected") {
                self?.selections.withLock { $0.append(line.contains("HIGH") ? "HIGH" : "BALANCED") }
                self?.changes.notify()
            }
        }
        let own: [String] =
            switch form {
            case .script:
                [
                    "--broker", self.address, "--speed", "6", "--destination", Self.destination, "--proximity", "200",
                    "--resolution-far", "BALANCED/30000/0", "--resolution-far-watched", "BALANCED/10000/0",
                    "--resolution-near", "BALANCED/10000/0", "--resolution-near-watched", "HIGH/500/0",
                ]
            case .story:
                [
                    "--broker", "mqtt://127.0.0.1:\(self.network.port)", "--speed", "1", "--batch-window", "2",
                    "--default-resolution", "BALANCED/30000/0",
                ]
            }
        try self.startAgent(
            [
                "--source", "simulate:#accuracy=BALANCED,seed=1", "--source", "simulate:#accuracy=HIGH,seed=1",
                "--battery", "file:\(self.path("battery"))", "--battery-threshold", "20",
                "--low-battery-multiplier", "5", "--log-level", "info",
            ] + own, output: log)
    }

    /// Starts the agent of the simulated courier with more options.
    func startAgent(_ options: [String], output: Any) throws {
        let program = try Self.find("godwit-agent", beside: self.programFolders)
        try self.start(
            program,
            [
                "run", "--trackable", Self.trackable, "--client-id", "demo-agent", "--spool",
                self.path("spool.sqlite"),
            ] + options, output: output)
    }

    private var programFolders: [String] {
        [
            URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().path(percentEncoded: false),
            Self.ownFolder,
        ]
    }

    // MARK: - Map and history

    /// Creates a one-time access token, and starts a gateway that records into a history.
    ///
    /// - Parameter map: The options for the tiles of the map.
    /// - Returns: The URL of the gateway's map, with the one-time token that signs the first browser in.
    /// - Throws: `inputUnreadable` if the gateway does not start, with its reason.
    func startGateway(showing map: [String] = []) async throws -> String {
        let program = try Self.find("godwit", beside: self.programFolders)
        let token = Pipe()
        let maker = try self.start(
            program, ["token", "create", "--name", "demo", "--read-all", "--once", "--state", self.path("")],
            standardOutput: token, output: FileHandle.nullDevice)
        let text = String(decoding: token.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        maker.waitUntilExit()
        guard let secret = text.split(whereSeparator: \.isWhitespace).last else {
            throw TrackingError(
                .inputUnreadable, "cannot start the map of the demo: 'godwit token create' printed no token")
        }
        let words = Pipe()
        try self.start(
            program,
            [
                "serve", "--broker", self.address, "--listen", "127.0.0.1:0", "--state", self.path(""), "--store",
                "sqlite:\(self.path("history.sqlite"))",
            ] + map, output: words)
        let (lines, said) = AsyncStream.makeStream(of: String.self)
        words.fileHandleForReading.readabilityHandler = { handle in
            let text = String(decoding: handle.availableData, as: UTF8.self)
            if text.isEmpty {
                handle.readabilityHandler = nil
                said.finish()
            }
            for line in text.split(separator: "\n") { said.yield(String(line)) }
        }
        var last = ""
        for await line in lines {
            if let range = line.range(of: "listening on ") {
                return "\(line[range.upperBound...])/#sign-in=\(secret)"
            }
            last = line
        }
        throw TrackingError(
            .inputUnreadable, "cannot start the map of the demo: the gateway ended. Its last message: \(last)")
    }

    /// Cuts the van's connection to the broker, and refuses new connections.
    func cutNetwork() {
        self.network.mode = .refuse
        self.network.cut()
    }

    /// Permits the simulated van to connect to the broker again, after ``cutNetwork()``.
    func restoreNetwork() { self.network.mode = .pass }

    /// Returns the number of the van's points in the history that lie in a time span. At most about 1,000 points are
    /// counted. Returns 0 if the history does not exist yet.
    func recordedPoints(during times: TimeSpan) async throws -> Int {
        let query = PointQuery(try TrackableID(Self.trackable), during: times)
        return try await self.history { store in try await store.points(query, after: nil, limit: 1_000).points.count }
            ?? 0
    }

    /// Returns the numbers of the van's recorded and lost records; `nil` if the history has nothing of the van by the
    /// end of the wait.
    ///
    /// - Parameters:
    ///   - live: The numbers of the positions that arrived live.
    ///   - patience: The longest wait until no record is missing.
    func totals(live: Set<UInt64>, within patience: Duration) async throws -> DemoTotals? {
        let deadline = ContinuousClock.now + patience
        while true {
            let report = try await self.history { store in try await store.verify(try TrackableID(Self.trackable)) }
            let totals = report.map { DemoTotals($0, live: live) }
            if totals?.lost == 0 || ContinuousClock.now >= deadline { return totals }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    /// Opens the history into which the gateway records, and runs `body` to read it; returns `nil` if the history does
    /// not exist yet.
    private func history<Value>(_ body: (SQLiteHistoryStore) async throws -> Value?) async throws -> Value? {
        let path = self.path("history.sqlite")
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let store = try SQLiteHistoryStore(path: path, isForReading: true)
        let value: Result<Value?, any Error>
        do { value = .success(try await body(store)) } catch { value = .failure(error) }
        try await store.close()
        return try value.get()
    }

    /// Makes a subscriber at the private broker. If it is silent, publishers do not count it as a subscriber.
    ///
    /// - Parameter wantsJourneys: `true` to receive journeys and estimated arrival times as well.
    func subscriber(
        _ name: String, isSilent: Bool, wantsJourneys: Bool = false
    ) throws -> AssetSubscriber<MQTTTransport> {
        let client = try ClientID(name)
        var generator = SystemRandomNumberGenerator()
        var configuration = SubscriberConfiguration(client: client, session: .random(using: &generator))
        configuration.isSilent = isSilent
        configuration.wantsJourneys = wantsJourneys
        let connection = MQTTConfiguration(
            endpoints: [MQTTEndpoint(host: "127.0.0.1", port: self.port)], for: configuration)
        return AssetSubscriber(configuration: configuration, transport: try MQTTTransport(configuration: connection))
    }

    /// Ends all child programs of the demo, and removes the folder with their files.
    func end() {
        for child in self.children.withLock({ $0.reversed() }) where child.isRunning {
            child.terminate()
            child.waitUntilExit()
        }
        try? FileManager.default.removeItem(at: self.folder)
    }

    // MARK: - Programs and ports

    @discardableResult
    private func start(
        _ program: String, _ arguments: [String], standardOutput: Any = FileHandle.nullDevice, output: Any
    ) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.environment = self.environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = standardOutput
        process.standardError = output
        try Self.withoutBlockedSignals { try process.run() }
        self.children.withLock { $0.append(process) }
        return process
    }

    /// The environment of the child programs. The user's variables and files for Godwit have no effect, and the agent's
    /// control socket is in the folder of the demo.
    private var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GODWIT_") }
            .merging(["XDG_RUNTIME_DIR": self.path(""), "GODWIT_CONFIG": "/dev/null"]) { $1 }
    }

    /// Runs `start`, which starts a child program, with no signal blocked on this thread. A child inherits blocked
    /// signals. Threads of Swift's concurrency runtime block SIGTERM, with which the demo later ends the child.
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

    /// Returns a port of the loopback interface that no program uses: the given one, or any for 0.
    private static func freePort(_ wanted: UInt16) throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var (address, reuse) = (sockaddr_in(), Int32(1))
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = wanted.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 ? getsockname(descriptor, address, &size) : -1
            }
        }
        guard result == 0 else {
            throw TrackingError(
                .inputUnreadable,
                wanted == 0
                    ? "cannot find a free port on the loopback interface for the demo's broker"
                    : "cannot start the demo's broker on port \(wanted): another program uses it. Give another --port, or none for a free one"
            )
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
