import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

/// A device for tests of its controls. Its state and its socket outlive the agent, which may be restarted.
final class AgentScene: Sendable {
    let broker: MosquittoProcess
    let folder: URL

    init(_ broker: MosquittoProcess) throws {
        self.broker = broker
        // The path of a socket is limited in length.
        self.folder = FileManager.default.temporaryDirectory.appending(path: "gw-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    var socket: String { self.file("agent.sock") }

    func file(_ name: String) -> String { self.folder.appending(path: name).path() }

    /// Starts an agent of van-7 and waits until it accepts controls.
    func start(
        _ more: [String] = [], environment: [String: String] = [:], input: String = "/dev/null"
    ) async throws -> RunningProgram {
        let broker = more.contains("--broker") ? [] : ["--broker", self.broker.url]
        let source = more.contains("--source") ? [] : ["--source", "simulate:"]
        let battery = more.contains("--battery") ? [] : ["--battery", "none"]
        let agent = try Programs.start(
            "godwit-agent",
            ["run", "--trackable", "van-7", "--socket", self.socket] + source + broker + battery + more,
            environment: ["XDG_STATE_HOME": self.file("state")].merging(environment) { $1 }, input: input)
        let deadline = ContinuousClock.now + .seconds(60)
        while (try? await self.control(["status"]).code) != 0 {
            try #require(ContinuousClock.now < deadline, "the agent takes no controls: \(agent.errors)")
            try await Task.sleep(for: .milliseconds(50))
        }
        return agent
    }

    /// Runs one of the controls.
    func control(_ arguments: [String], input: String = "/dev/null") async throws -> Programs.Result {
        try await Programs.run("godwit-agent", arguments, environment: ["GODWIT_SOCKET": self.socket], input: input)
    }

    /// Runs one of the controls, and fails the test unless it succeeds.
    @discardableResult
    func done(_ arguments: [String]) async throws -> String {
        let result = try await self.control(arguments)
        try #require(result.code == 0, "\(arguments): \(result.errors)")
        return result.output
    }

    /// Returns the agent's status.
    func status() async throws -> AgentStatus {
        let json = try await self.done(["status", "--json"])
        return try AgentStatus(members: #require(try JSONValue(json: Array(json.utf8.dropLast())).object))
    }

    /// Waits until the status matches a condition.
    @discardableResult
    func status(_ isSo: (AgentStatus) -> Bool) async throws -> AgentStatus {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let status = try await self.status()
            if isSo(status) { return status }
            try #require(ContinuousClock.now < deadline, "it never was so: \(status)")
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Subscribes to everything that is published from now on.
    func listen() async throws -> Listener {
        let listener = try Listener(self.broker)
        try await listener.waitUntilListening()
        return listener
    }

    /// A subscription to the broker's messages, one line per message.
    struct Listener {
        private let program: RunningProgram
        private let broker: MosquittoProcess
        private let before: Int

        init(_ broker: MosquittoProcess, user: String? = nil) throws {
            self.broker = broker
            self.before = broker.log.components(separatedBy: "Sending SUBACK").count
            let account = user.map { ["-u", $0, "-P", "a-test-password", "-i", $0] } ?? []
            self.program = try RunningProgram(
                "/usr/bin/mosquitto_sub",
                ["-h", "127.0.0.1", "-p", "\(broker.port)", "-v", "-R", "-t", "tracking/#"] + account)
        }

        func waitUntilListening() async throws {
            let deadline = ContinuousClock.now + .seconds(60)
            while self.broker.log.components(separatedBy: "Sending SUBACK").count == self.before {
                try #require(ContinuousClock.now < deadline, "the listener does not listen: \(self.program.errors)")
                try await Task.sleep(for: .milliseconds(10))
            }
        }

        /// The payloads on a topic so far.
        func payloads(_ topic: String) -> [String] {
            self.program.output.split(separator: "\n").compactMap { line in
                let path = "tracking/\(topic)"
                guard line == path || line.hasPrefix(path + " ") else { return nil }
                return String(line.dropFirst(path.count + 1))
            }
        }

        /// The number of messages so far.
        var count: Int { self.program.output.split(separator: "\n").count }

        /// Waits until the payloads on a topic match a condition.
        func wait(_ topic: String, for isThere: ([String]) -> Bool) async throws {
            try await self.program.wait { _ in isThere(self.payloads(topic)) }
        }
    }
}
