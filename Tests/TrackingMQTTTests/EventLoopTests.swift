import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT

/// The I/O thread as an executor of tasks.
@Suite(.timeLimit(.minutes(5))) struct EventLoopTests {
    /// The name of the thread that this runs on.
    @concurrent
    private static func threadName() async -> String {
        let name = try? String(contentsOf: URL(filePath: "/proc/thread-self/comm"), encoding: .utf8)
        return name?.trimmingCharacters(in: .newlines) ?? "unknown"
    }

    @Test func aTaskThatPrefersTheLoopRunsOnItsThread() async {
        let loop = MQTTEventLoop(name: "preferred")
        let names = await withTaskExecutorPreference(loop.executor) {
            async let child = Self.threadName()
            return await [Self.threadName(), child]
        }
        #expect(names == ["preferred", "preferred"])
        let name = await Self.threadName()
        #expect(name != "preferred")
        loop.shutdown()
    }

    @Test func aTaskThatSleepsOnTheLoopComesBackToIt() async throws {
        let loop = MQTTEventLoop(name: "sleeper")
        let name = try await withTaskExecutorPreference(loop.executor) {
            try await Task.sleep(for: .milliseconds(1))
            return await Self.threadName()
        }
        #expect(name == "sleeper")
        loop.shutdown()
    }

    @Test func jobsThatAskForMoreHoldNoSocketUp() async throws {
        let broker = try await MosquittoProcess.start()
        let loop = MQTTEventLoop(name: "busy")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: loop.executor) {
                while !Task.isCancelled { await Task.yield() }
            }
            try await TestClient.with(TestClient.configuration("patient", port: broker.port), loop: loop) { client in
                try await client.connected()
                try await client.subscribe(["busy/#"])
                _ = try await client.publish([OutgoingMessage("busy/1", "heard")])
                let messages = try await client.messages(1)
                #expect(messages.map(\.text) == ["heard"])
            }
            group.cancelAll()
            try await group.waitForAll()
        }
        loop.shutdown()
    }
}
