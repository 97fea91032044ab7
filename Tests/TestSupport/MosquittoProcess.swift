public import Foundation
import Synchronization

/// A private Mosquitto broker for one test, with its own folder and a free port on 127.0.0.1, removed with the test.
///
///     let broker = try await MosquittoProcess.start()
///     // … connect to 127.0.0.1:broker.port …
///     try await broker.restart()
///
/// The broker is killed at the latest when the last reference to this object is released.
public final class MosquittoProcess: Sendable {
    /// Returns the text of a Mosquitto configuration for a port and the broker's own folder, which exists and is empty.
    public typealias Configuration = @Sendable (_ port: Int, _ directory: URL) throws -> String

    /// The port of the broker on 127.0.0.1.
    public let port: Int
    /// The broker's own folder with `mosquitto.conf` and `mosquitto.log`. It is removed with the broker.
    public let directory: URL
    /// The address (URL) of the broker for the programs' option `--broker`.
    public var url: String { "mqtt://127.0.0.1:\(self.port)" }

    private let program: URL
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts a broker and returns when it accepts connections.
    ///
    /// - Parameters:
    ///   - port: The port of the broker; `nil` for a free port.
    ///   - extra: Lines to append to the default configuration (one listener, anonymous access, no persistence).
    /// - Throws: `TestSupportError` that names the missing program or contains the broker's log.
    public static func start(port: Int? = nil, extra: [String] = []) async throws -> MosquittoProcess {
        try await Self.start(port: port) { port, _ in
            (["listener \(port) 127.0.0.1", "allow_anonymous true", "max_queued_messages 100000"] + extra)
                .joined(separator: "\n")
        }
    }

    /// Starts a broker that saves its state on disk at every change, and returns when it accepts connections.
    public static func startPersistent() async throws -> MosquittoProcess {
        try await Self.start(port: nil) { port, directory in
            """
            listener \(port) 127.0.0.1
            allow_anonymous true
            max_queued_messages 100000
            persistence true
            persistence_location \(directory.path())
            autosave_on_changes true
            autosave_interval 1
            """
        }
    }

    /// Starts a broker with the caller's configuration and returns when it accepts connections on its port.
    ///
    /// Before the caller's configuration come lines for the broker's user and for a log in its folder.
    public static func start(port: Int? = nil, configuration: Configuration) async throws -> MosquittoProcess {
        var lastError: any Error = TestSupportError("unreachable")
        for _ in 0..<5 {
            do {
                let broker = try MosquittoProcess(port: port ?? LoopbackPort.free(), configuration: configuration)
                try await broker.launch()
                return broker
            } catch {
                lastError = error  // another program may have taken the port meanwhile
            }
            if port != nil { break }
        }
        throw lastError
    }

    private init(port: Int, configuration: Configuration) throws {
        self.port = port
        self.program = try Self.findProgram()
        self.directory = FileManager.default.temporaryDirectory.appending(path: "godwit-broker-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        let own = "user \(NSUserName())\nlog_dest file \(self.logFile.path())\nlog_type all\n"
        let text = try own + configuration(port, self.directory) + "\n"
        try Data(text.utf8).write(to: self.directory.appending(path: "mosquitto.conf"))
    }

    deinit {
        self.process.withLock { $0 }?.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.directory)
    }

    /// The log of the broker so far.
    public var log: String { (try? String(contentsOf: self.logFile, encoding: .utf8)) ?? "" }

    /// The process id of the broker; `nil` while it does not run.
    public var processID: Int32? {
        self.process.withLock { process in process.flatMap { $0.isRunning ? $0.id : nil } }
    }

    /// Ends the broker in order (SIGTERM) and returns after its end. Does nothing if the broker does not run.
    public func stop() async throws { try await self.end(with: SIGTERM) }

    /// Kills the broker (SIGKILL), as a power cut would, and returns after its end.
    public func kill() async throws { try await self.end(with: SIGKILL) }

    /// Deletes the state that a persistent broker saved on disk. The broker must not run.
    ///
    /// - Throws: `TestSupportError` if there is no saved state, because the broker is not persistent or ran too
    ///   briefly.
    public func wipe() throws {
        guard self.processID == nil else {
            throw TestSupportError("cannot delete the saved state of a broker that runs. Stop the broker first")
        }
        do {
            try FileManager.default.removeItem(at: self.directory.appending(path: "mosquitto.db"))
        } catch {
            throw TestSupportError("the broker has saved no state on disk: \(error)")
        }
    }

    /// Stops the broker's process (SIGSTOP): connections remain open, but get no answers.
    public func freeze() { self.signal(SIGSTOP) }

    /// Continues a frozen broker (SIGCONT).
    public func thaw() { self.signal(SIGCONT) }

    /// Makes the broker read its password, access and revocation files again (SIGHUP).
    public func reload() { self.signal(SIGHUP) }

    /// Starts the broker again with the same configuration and port. A running broker is ended in order first.
    public func restart() async throws {
        try await self.stop()
        try await self.launch()
    }

    /// Waits until the broker's log contains a text `count` times.
    public func waitForLog(_ text: String, count: Int = 1) async throws {
        try await self.wait("log '\(text)' \(count) times") { self.log.components(separatedBy: text).count > count }
    }

    private var logFile: URL { self.directory.appending(path: "mosquitto.log") }

    private func signal(_ number: Int32) {
        self.process.withLock { $0 }?.signal(number)
    }

    private func launch() async throws {
        let output = self.directory.appending(path: "output.log")
        let process = try ChildProcess(
            self.program.path(), ["-c", self.directory.appending(path: "mosquitto.conf").path()], output: output.path())
        self.process.withLock { $0 = process }
        try await self.wait("accept connections") { !process.isRunning || LoopbackPort.accepts(self.port) }
        guard process.isRunning else {
            let printed = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
            throw TestSupportError("mosquitto ended right after its start on port \(self.port): \(printed)\(self.log)")
        }
    }

    private func end(with number: Int32) async throws {
        guard let process = self.process.withLock({ $0 }), process.isRunning else { return }
        process.signal(number)
        if number == SIGTERM { process.signal(SIGCONT) }  // a frozen process cannot handle signals
        try await self.wait("end") { !process.isRunning }
    }

    private func wait(_ what: String, until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("mosquitto did not \(what) within 60 s: \(self.log)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private static func findProgram() throws -> URL {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in path + ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"] {
            let program = URL(filePath: folder).appending(path: "mosquitto")
            if FileManager.default.isExecutableFile(atPath: program.path()) { return program }
        }
        throw TestSupportError("mosquitto is neither on PATH nor in /usr/sbin: apt-get install mosquitto")
    }
}
