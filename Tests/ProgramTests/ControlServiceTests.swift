import ArgumentParser
import Foundation
import TestSupport
import Testing
import TrackingControl
import TrackingCore

@testable import godwit_agent

/// The interfaces of a running agent.
@Suite(.timeLimit(.minutes(5))) struct ControlServiceTests {
    private let folder: URL

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "gw-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    private func file(_ name: String) -> String { self.folder.appending(path: name).path() }

    @Test func theServiceManagerHearsTheBeginningTheLifeAndTheEnd() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let manager = try NotifySocket(isAbstract: true)
        let options = try ControlOptions.parse([
            "--socket", self.file("agent.sock"), "--metrics-file", self.file("godwit.prom"),
        ])
        let service = ControlService(
            FakeAgent(), options: options,
            environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "50000"])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            var received: Set<String> = []
            while !received.isSuperset(of: ["READY=1", "WATCHDOG=1"]) { received.insert(try await manager.next()) }
            let client = try ControlClient(paths: [self.file("agent.sock")])
            #expect(try await client.ask(.on) == [:])
            try await self.wait { FileManager.default.fileExists(atPath: self.file("godwit.prom")) }
            let metrics = try String(contentsOfFile: self.file("godwit.prom"), encoding: .utf8)
            #expect(metrics == Samples.status.metrics)
            group.cancelAll()
            while try await manager.next() != "STOPPING=1" {}
        }
    }

    /// The watchdog does not wait for the log: reading it may take long without being a fault.
    @Test func lifeIsNotReadOffTheLog() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let manager = try NotifySocket(isAbstract: true)
        let options = try ControlOptions.parse(["--socket", self.file("agent.sock")])
        let agent = FakeAgent()
        let environment = ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "50000"]
        let service = ControlService(agent, options: options, environment: environment)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            while try await manager.next() != "WATCHDOG=1" {}
            #expect(agent.called.contains("respond"))
            group.cancelAll()
        }
    }

    /// Opening a damaged log, whose records are salvaged, takes minutes.
    @Test func aSlowStartIsReportedAndTheWatchdogContinues() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let manager = try NotifySocket(isAbstract: true)
        let options = try ControlOptions.parse(["--socket", self.file("agent.sock")])
        let agent = FakeAgent()
        agent.isBusy(with: "opening the log")
        let environment = ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "50000"]
        let service = ControlService(agent, options: options, environment: environment)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            while try await manager.next() != "STATUS=opening the log" {}
            while try await manager.next() != "WATCHDOG=1" {}
            agent.isBusy(with: nil)
            while try await manager.next() != "STATUS=" {}
            group.cancelAll()
        }
    }

    @Test func aSocketThatIsNamedAndCannotBeUsedEndsTheAgent() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try Data().write(to: URL(filePath: self.file("agent.sock")))
        let options = try ControlOptions.parse(["--socket", self.file("agent.sock")])
        let error = await #expect(throws: TrackingError.self) {
            try await ControlService(FakeAgent(), options: options, environment: [:]).run()
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func withoutOneThatIsNamedTheAgentWorksWithoutASocket() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        try Data().write(to: URL(filePath: self.file("godwit")))
        let manager = try NotifySocket(isAbstract: false)
        let environment = ["XDG_RUNTIME_DIR": self.folder.path(), "NOTIFY_SOCKET": manager.name]
        let service = ControlService(FakeAgent(), options: try ControlOptions.parse([]), environment: environment)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            let first = try await manager.next()
            #expect(first == "READY=1")
            group.cancelAll()
            let last = try await manager.next()
            #expect(last == "STOPPING=1")
        }
    }

    private func wait(until condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            try #require(ContinuousClock.now < deadline, "it did not happen in time")
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
