public import Foundation
import Synchronization

/// A private gpsd for one test, on a free port of 127.0.0.1 and on the receivers that the test names.
///
/// It is killed at the latest when the last reference to it goes.
public final class GPSDProcess: Sendable {
    /// Where it listens, on 127.0.0.1.
    public let port: Int
    /// The address in the form that `--source` takes.
    public var url: String { "gpsd://127.0.0.1:\(self.port)" }

    private let program: String
    private let arguments: [String]
    private let logFile = FileManager.default.temporaryDirectory.appending(path: "godwit-gpsd-\(UUID().uuidString).log")
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts a gpsd on the receiver at `path` and returns once it accepts connections.
    ///
    /// - Parameter writes: Whether it may write to the receiver; otherwise it only listens.
    /// - Throws: `TestSupportError` that says what is missing or what it logged.
    public static func start(_ path: String, writes: Bool = false) async throws -> GPSDProcess {
        let gpsd = try GPSDProcess(path, writes: writes)
        try await gpsd.launch()
        return gpsd
    }

    private init(_ path: String, writes: Bool) throws {
        self.port = try LoopbackPort.free()
        self.program = try Self.find("gpsd", package: "gpsd")
        // In the foreground, reading at once, at a speed that it need not look for; level 2 logs what clients say.
        self.arguments =
            ["-N", "-n", "-s", "38400", "-D", "2", "-S", "\(self.port)"] + (writes ? [] : ["-b"]) + [path]
    }

    deinit {
        self.process.withLock { $0 }?.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.logFile)
    }

    /// What it logged so far: `<=` before what a client said, `=>` before what it was told.
    public var log: String { (try? String(contentsOf: self.logFile, encoding: .utf8)) ?? "" }

    /// Starts it (again), on the same port.
    public func launch() async throws {
        let process = try ChildProcess(self.program, self.arguments, output: self.logFile.path())
        self.process.withLock { $0 = process }
        try await self.wait("accept connections") { !process.isRunning || LoopbackPort.accepts(self.port) }
        guard process.isRunning else { throw TestSupportError("gpsd ended at once: \(self.log.suffix(2_000))") }
    }

    /// Ends it with this signal and returns once it is gone; its clients have then been told everything it had read.
    public func end(_ signal: Int32 = SIGTERM) async throws {
        guard let process = self.process.withLock({ $0 }) else { return }
        process.signal(signal)
        try await self.wait("end") { !process.isRunning }
    }

    /// Waits until a client has said this, `count` times.
    public func waitForClient(_ text: String, count: Int = 1) async throws {
        try await self.wait("hear '\(text)' \(count) times") {
            self.log.split(separator: "\n").filter { $0.contains("<= client") }.joined()
                .components(separatedBy: text).count > count
        }
    }

    /// A program of Debian's gpsd packages.
    public static func find(_ name: String, package: String) throws -> String {
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for folder in path + ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/opt/homebrew/sbin"] {
            let program = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: program) { return program }
        }
        throw TestSupportError("\(name) is neither on PATH nor in /usr/sbin: apt-get install \(package)")
    }

    private func wait(_ what: String, until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("gpsd did not \(what) within 60 s: \(self.log.suffix(2_000))")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
