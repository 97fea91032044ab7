import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// A broker, a temporary folder, and the programs of a test: recorders, and agents that wait for their acknowledgement.
final class RecordStage: Sendable {
    let folder: URL
    let broker: MosquittoProcess
    /// The address of the history, for `--store`.
    let address: String
    let van = try! TrackableID("van")  // a valid name

    /// - Parameters:
    ///   - extra: Lines for the broker's configuration.
    ///   - hasStockLimits: `true` for a broker with Mosquitto's own queue limits, in place of the project's.
    ///   - store: The address of another history, for `--store`; `nil` for a file in the folder.
    init(extra: [String] = [], hasStockLimits: Bool = false, store: String? = nil) async throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-record-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.address = store ?? "sqlite:\(self.folder.appending(path: "history.sqlite").path())"
        self.broker =
            try await hasStockLimits
            ? MosquittoProcess.start { port, _ in "listener \(port) 127.0.0.1\nallow_anonymous true" }
            : MosquittoProcess.start(extra: ["max_inflight_messages 500"] + extra)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    /// The path of the history, if it is a file.
    var database: String { String(self.address.dropFirst("sqlite:".count)) }

    /// Starts a recorder. Its name is `keeper`, unless `more` gives another.
    func recorder(_ more: [String] = []) throws -> RunningProgram {
        try Programs.start(
            "godwit",
            [
                "record", "--broker", self.broker.url, "--name", "keeper", "--store", self.address, "--log-level",
                "info",
            ] + more)
    }

    /// Starts an agent that sends a drive of four fixes a second. It waits for `keeper`, unless `more` names another
    /// recorder.
    func agent(fixes: Int, speed: String, _ more: [String] = []) throws -> RunningProgram {
        let drive = self.folder.appending(path: "drive-\(fixes).jsonl")
        if !FileManager.default.fileExists(atPath: drive.path()) {
            let lines = (0..<fixes).map { index in
                let (latitude, longitude) = (52.0 + Double(index) * 1e-4, -8.5 + Double(index % 7) * 1e-5)
                return
                    "{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[\(longitude),\(latitude)]},"
                    + "\"properties\":{\"time\":\(1_700_000_000 + Double(index) * 0.25)}}"
            }
            try lines.joined(separator: "\n").write(to: drive, atomically: true, encoding: .utf8)
        }
        return try Programs.start(
            "godwit-agent",
            [
                "run", "--trackable", "van", "--broker", self.broker.url, "--client-id", "box", "--battery", "none",
                "--source", "jsonl:\(drive.path())", "--speed", speed,
                "--spool", self.folder.appending(path: "spool.sqlite").path(), "--log-level", "trace",
                "--default-resolution", "HIGH/1000/0", "--sensor-resolution", "HIGH/0/0",
                "--batch-size", "50", "--batch-window", "0.2",
            ] + (more.contains("--acknowledge-by") ? [] : ["--acknowledge-by", "keeper"]) + more)
    }

    /// Runs `body` with the history, while recorders use it as well.
    func withStore<Value>(_ body: (any HistoryStore) async throws -> Value) async throws -> Value {
        let store: any HistoryStore =
            try await self.address.hasPrefix("sqlite:")
            ? SQLiteHistoryStore(path: self.database) : PostgresHistoryStore(address: self.address)
        let value = try await body(store)
        try await store.close()
        return value
    }

    /// The names of the points that are stored.
    func stored() async throws -> Set<TestRecorder.Name> {
        let names = try await self.withStore { try await $0.storedNames(of: self.van) }
        #expect(Set(names).count == names.count, "a point is stored twice")
        return Set(names)
    }

    func waitUntilStored(_ names: Set<TestRecorder.Name>, within limit: Duration = .seconds(60)) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            let missing = names.subtracting(try await self.stored())
            if missing.isEmpty { return }
            guard ContinuousClock.now < deadline else {
                throw TestSupportError("not stored: \(missing.sorted().prefix(20)), \(missing.count) in all")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    func report() async throws -> VerifyReport {
        try #require(try await self.withStore { try await $0.verify(self.van) })
    }

    /// Returns the result of `godwit verify`.
    func verify() async throws -> Programs.Result {
        try await Programs.run("godwit", ["verify", "van", "--store", self.address])
    }

    /// Terminates recorders and checks that they end in order.
    func end(_ recorders: RunningProgram...) async throws {
        for recorder in recorders {
            recorder.terminate()
            let result = try await recorder.result(within: .seconds(60))
            #expect(result.code == 0, "\(result.errors.suffix(2000))")
        }
    }
}

/// Mosquitto's own clients, as examples of other programs.
enum MosquittoTool {
    /// - Parameter isLines: `true` if each line is a message.
    static func publish(
        _ text: String, to topic: String, isLines: Bool = false, on broker: MosquittoProcess
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-payload-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let arguments = ["mosquitto_pub", "-p", "\(broker.port)", "-q", "1", "-t", topic]
        guard isLines else { return try await ChildProcess.run("/usr/bin/env", arguments + ["-f", file.path()]) }
        let child = try ChildProcess("/usr/bin/env", arguments + ["-l"], input: file.path(), output: "/dev/null")
        guard try await child.waitForEnd(within: .seconds(60)) == 0 else {
            throw TestSupportError("mosquitto_pub failed")
        }
    }

    /// Returns the retained message of a topic; empty if there is none.
    static func retained(_ topic: String, on broker: MosquittoProcess) async throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "godwit-retained-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let child = try ChildProcess(
            "/usr/bin/env",
            ["mosquitto_sub", "-p", "\(broker.port)", "-t", topic, "-C", "1", "-W", "10", "--retained-only"],
            output: file.path())
        _ = try await child.waitForEnd(within: .seconds(60))
        return (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    }
}
