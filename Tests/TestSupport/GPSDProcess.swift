public import Foundation
import Synchronization

/// A private gpsd for one test, on a free port of 127.0.0.1 and with the test's receivers.
///
/// The gpsd is killed at the latest when the last reference to this object is released.
public final class GPSDProcess: Sendable {
    /// The port of gpsd on 127.0.0.1.
    public let port: Int
    /// The address of gpsd in the form that `--source` takes.
    public var url: String { "gpsd://127.0.0.1:\(self.port)" }

    private let program: String
    private let arguments: [String]
    private let logFile = FileManager.default.temporaryDirectory.appending(path: "godwit-gpsd-\(UUID().uuidString).log")
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts a gpsd on the receiver at `path` and returns when it accepts connections.
    ///
    /// - Parameter writes: `true` if gpsd may write to the receiver; `false` if gpsd only reads from it.
    /// - Throws: `TestSupportError` that names the missing program or contains gpsd's log.
    public static func start(_ path: String, writes: Bool = false) async throws -> GPSDProcess {
        let gpsd = try GPSDProcess(path, writes: writes)
        try await gpsd.launch()
        return gpsd
    }

    private init(_ path: String, writes: Bool) throws {
        self.port = try LoopbackPort.free()
        self.program = try Self.find("gpsd", package: "gpsd")
        // gpsd runs in the foreground, reads at once, and does not search for the speed; level 2 logs the requests of
        // clients.
        self.arguments =
            ["-N", "-n", "-s", "38400", "-D", "2", "-S", "\(self.port)"] + (writes ? [] : ["-b"]) + [path]
    }

    deinit {
        self.process.withLock { $0 }?.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.logFile)
    }

    /// The log of gpsd so far: `<=` precedes a client's request, `=>` an answer.
    public var log: String { (try? String(contentsOf: self.logFile, encoding: .utf8)) ?? "" }

    /// Starts gpsd, or restarts it on the same port.
    public func launch() async throws {
        let process = try ChildProcess(self.program, self.arguments, output: self.logFile.path())
        self.process.withLock { $0 = process }
        try await self.wait("accept connections") { !process.isRunning || LoopbackPort.accepts(self.port) }
        guard process.isRunning else { throw TestSupportError("gpsd ended at once: \(self.log.suffix(2_000))") }
    }

    /// Ends gpsd with this signal and returns after its end. The clients have then received everything that gpsd had
    /// read.
    public func end(_ signal: Int32 = SIGTERM) async throws {
        guard let process = self.process.withLock({ $0 }) else { return }
        process.signal(signal)
        try await self.wait("end") { !process.isRunning }
    }

    /// Waits until clients have sent this text to gpsd `count` times.
    public func waitForClient(_ text: String, count: Int = 1) async throws {
        try await self.wait("receive '\(text)' \(count) times from a client") {
            self.log.split(separator: "\n").filter { $0.contains("<= client") }.joined()
                .components(separatedBy: text).count > count
        }
    }

    /// Returns the path of a program in Debian's gpsd packages.
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
