import Foundation
import Glibc
import TestSupport
import Testing
import TrackingCore
import TrackingStore

/// Several brokers that a script of `broker/` has set up, and the built programs on them: over TLS, with the rights that
/// the tools grant. Everything ends with the last reference.
final class EngineScene: Sendable {
    /// The script that starts the brokers, and its options.
    private let up: [String]
    /// The names of the brokers, in the order of ``ports``.
    let nodes: [String]
    /// The port of each broker for users with a password.
    let ports: [Int]
    /// The trackables, each with an agent of its own.
    let trackables: [TrackableID]
    /// Further options of each program.
    private let programOptions: [String]
    /// The speed at which the agents of a cluster replay their drives: many agents replay more slowly.
    var speed: String { self.trackables.count > 2 ? "4" : "20" }
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-engine-\(UUID().uuidString)")
    private var history: String { "sqlite:\(self.path("history.sqlite"))" }

    /// Starts two bridged Mosquittos.
    static func pair() async throws -> EngineScene {
        let ports = try (0..<4).map { _ in try LoopbackPort.free() }
        let options = ["--ports", ports.map(String.init).joined(separator: ",")]
        return try await EngineScene("pair/up", options, nodes: ["a", "b"], ports: [ports[0], ports[2]])
    }

    /// Starts three NATS servers.
    static func nats() async throws -> EngineScene {
        let ports = try (0..<9).map { _ in try LoopbackPort.free() }
        let options = ["--ports", ports.map(String.init).joined(separator: ",")]
        return try await EngineScene(
            "cluster/nats up", options, nodes: ["n1", "n2", "n3"], ports: [ports[0], ports[3], ports[6]],
            programOptions: ["--subscription-qos", "0"])
    }

    /// Starts three nodes of RabbitMQ, for twelve agents.
    static func rabbitMQ() async throws -> EngineScene {
        let ports = try (0..<10).map { _ in try LoopbackPort.free() }
        let options = ["--ports", ports.map(String.init).joined(separator: ",")]
        return try await EngineScene(
            "cluster/rabbitmq up", options, nodes: ["n1", "n2", "n3"], ports: [ports[0], ports[3], ports[6]],
            agents: 12, programOptions: ["--subscription-qos", "0"])
    }

    /// `true` if the NATS server is installed.
    static var hasNATS: Bool {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "/root")/.cache"
        let program = environment["GODWIT_NATS_SERVER"] ?? "\(cache)/godwit/nats/nats-server"
        return FileManager.default.isExecutableFile(atPath: program)
    }

    /// Makes the users, and starts the brokers with them.
    private init(
        _ script: String, _ options: [String], nodes: [String], ports: [Int], agents: Int = 2,
        programOptions: [String] = []
    ) async throws {
        self.programOptions = programOptions
        self.trackables = (0..<agents).map { try! TrackableID("van-\($0)") }  // valid names
        let folder = self.folder.path()
        self.up = [script, "--dir", "'\(folder)/brokers'"]
        (self.nodes, self.ports) = (nodes, ports)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        try await self.run((self.up + options).joined(separator: " "))
        let devices = self.trackables.map { "add-device --dir '\(folder)/brokers' box-\($0) \($0)" }
        let others = [
            "add-recorder --dir '\(folder)/brokers' keeper", "add-watcher --dir '\(folder)/brokers' --all eye",
        ]
        try await self.run(devices + others)
        try await self.start()
    }

    deinit {
        // The cluster of RabbitMQ has a port mapper.
        for file in self.nodes.map({ "\($0)/pid" }) + ["epmd.pid"] {
            if let id = self.processID(in: file) { Glibc.kill(id, SIGKILL) }
        }
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// Starts the brokers that do not run.
    func start() async throws { try await self.run(self.up.joined(separator: " ")) }

    /// In the long form, waits until no connection counts as short-lived: a client that loses several such connections in a
    /// row suspects another client with its id, and waits longer.
    func waitForLastingConnections() async throws {
        // The age of a connection is the condition itself; no event shows it.
        if Self.rounds != nil { try await Task.sleep(for: .seconds(15)) }
    }

    /// Kills a broker, as a power cut would, and returns after its end.
    func kill(_ node: String) async throws {
        let index = try #require(self.nodes.firstIndex(of: node))
        try self.signal(node, SIGKILL)
        try await waitUntil { !LoopbackPort.accepts(self.ports[index]) }
    }

    /// Stops a broker without an end of its connections, or continues it.
    func signal(_ node: String, _ number: Int32) throws {
        Glibc.kill(try #require(self.processID(in: "\(node)/pid")), number)
    }

    /// A path in the folder of the brokers.
    func brokerFile(_ name: String) -> String { self.path("brokers/\(name)") }

    /// Starts a recorder, and returns when it stores messages.
    ///
    /// - Parameter order: The brokers that it tries in turn.
    func recorder(at order: [Int]) async throws -> RunningProgram {
        let recorder = try self.program(
            "godwit",
            [
                "record", "--name", "keeper", "--intake-user", "keeper-intake", "--store", self.history, "--log-level",
                "info",
            ],
            as: "keeper", at: order)
        try await recorder.waitForLog("Recorder is storing messages")
        return recorder
    }

    /// Starts a watcher of all trackables, which prints JSON.
    func watcher(at order: [Int]) throws -> RunningProgram {
        try self.program("godwit", ["watch", "--all", "--format", "json"], as: "eye", at: order)
    }

    /// The number of times that a drill kills each broker, from the environment; `nil` in the short form.
    static let rounds = Int(ProcessInfo.processInfo.environment["GODWIT_DRILL_ROUNDS"] ?? "")

    /// Starts an agent with a drive of four fixes a second, which is longer than the test unless `fixes` is given. It waits
    /// for the acknowledgements of the recorder.
    func agent(_ trackable: TrackableID, fixes: Int? = nil, speed: String, at order: [Int]) throws -> RunningProgram {
        let fixes = fixes ?? (Self.rounds == nil ? 20_000 : 100_000)
        let lines = (0..<fixes).map { DrillScene.feature($0, time: 1_700_000_000 + Double($0) * 0.25) }
        let drive = self.path("drive-\(UUID().uuidString).jsonl")
        try (lines.joined(separator: "\n") + "\n").write(toFile: drive, atomically: true, encoding: .utf8)
        return try self.program(
            "godwit-agent",
            [
                "run", "--trackable", "\(trackable)", "--battery", "none", "--source", "jsonl:\(drive)", "--speed",
                speed,
                "--spool", self.path("\(trackable).sqlite"), "--log-level", "trace", "--acknowledge-by", "keeper",
                "--default-resolution", "HIGH/1000/0", "--sensor-resolution", "HIGH/0/0", "--batch-size", "20",
                "--batch-window", "0.2",
            ], as: "box-\(trackable)", at: order)
    }

    /// Waits until each agent has recorded, and the watcher has printed, some more positions.
    func waitForProgress(of agents: [RunningProgram], _ watcher: RunningProgram) async throws {
        func counts() -> [Int] {
            let printed = watcher.printedPositions
            return agents.map(\.loggedRecords.count) + self.trackables.map { printed["\($0)"]?.count ?? 0 }
        }
        let wanted = zip(counts(), agents.map { _ in 30 } + self.trackables.map { _ in 3 }).map { $0 + $1 }
        try await waitUntil(within: .seconds(240)) { zip(counts(), wanted).allSatisfy { $0 >= $1 } }
    }

    /// Ends the agents, sends the rest of their logs, and checks that the history has each of their records once.
    ///
    /// - Returns: The number of points in the history.
    @discardableResult func expectStoredOnce(_ agents: [RunningProgram]) async throws -> Int {
        var total = 0
        for (trackable, agent) in zip(self.trackables, agents) {
            agent.terminate()
            _ = try await agent.result(within: .seconds(60))
            let last = try self.agent(trackable, fixes: 2, speed: "1000", at: [0])
            #expect(try await last.result(within: .seconds(60)).code == 0, "\(last.errors.suffix(2000))")
            let recorded = agent.loggedRecords.union(last.loggedRecords)
            // The last batches may be at the broker when the agent ends.
            try await waitUntil { recorded.isSubset(of: try await self.stored(trackable)) }
            let stored = try await self.stored(trackable)
            let numbers = (total: stored.count, different: Set(stored).count)
            #expect(numbers.total == numbers.different, "a point is stored twice")
            total += numbers.total
            let verified = try await Programs.run("godwit", ["verify", "\(trackable)", "--store", self.history])
            #expect(verified.code == 0, "\(verified.output) \(verified.errors)")
        }
        return total
    }

    private func stored(_ trackable: TrackableID) async throws -> [TestRecorder.Name] {
        let store = try SQLiteHistoryStore(path: self.path("history.sqlite"))
        let names = try await store.storedNames(of: trackable)
        try await store.close()
        return names
    }

    /// The longest time in which a watcher received no position of a trackable, in seconds.
    ///
    /// - Parameter start: The time from which pauses count, in seconds since 1970.
    func longestPause(of watcher: RunningProgram, since start: Double = 0) -> Double {
        let printed = watcher.printedPositions
        return self.trackables.map { trackable in
            let times = printed["\(trackable)"] ?? []
            return zip(times, times.dropFirst()).filter { $1 >= start }.map { $1 - $0 }.max() ?? .infinity
        }.max() ?? .infinity
    }

    /// Runs scripts of `broker/`.
    func run(_ scripts: [String]) async throws {
        let tools = Programs.root.appending(path: "broker").path()
        let lines = scripts.map { "'\(tools)'/\($0)\n" }
        let output = self.path("scripts.log")
        let child = try ChildProcess(
            "/bin/sh", ["-ec", "export GODWIT_PASSWORD=a-test-password\n" + lines.joined()], output: output)
        guard try await child.waitForEnd(within: .seconds(180)) == 0 else {
            throw TestSupportError("a script failed: \((try? String(contentsOfFile: output, encoding: .utf8)) ?? "")")
        }
    }

    private func run(_ script: String) async throws { try await self.run([script]) }

    private func program(
        _ name: String, _ arguments: [String], as user: String, at order: [Int]
    ) throws -> RunningProgram {
        let brokers = order.flatMap { ["--broker", "mqtts://\(user)@localhost:\(self.ports[$0])"] }
        return try Programs.start(
            name, arguments + brokers + ["--ca", self.brokerFile("certs/ca.crt")] + self.programOptions,
            environment: ["GODWIT_PASSWORD": "a-test-password"])
    }

    private func processID(in file: String) -> Int32? {
        (try? String(contentsOfFile: self.brokerFile(file), encoding: .utf8)).flatMap {
            Int32($0.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    private func path(_ name: String) -> String { self.folder.appending(path: name).path() }
}
