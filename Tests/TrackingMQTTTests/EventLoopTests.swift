import Foundation
import TestSupport
import Testing
import TrackingCore
import TrackingMQTT
import TrackingRuntime

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

    @Test func aGuestRunsOnTheThreadUntilItHasEnded() async throws {
        let loop = MQTTEventLoop(name: "host")
        let guest = Guest(of: loop)
        loop.schedule(guest)
        try await guest.log.wait("the first turn") { $0 == .turn("host") }
        guest.write()
        try await guest.log.wait("the socket") { $0 == .ready(.read) }
        // Nothing schedules the last turn except the deadline.
        try await guest.log.wait("the deadline") { $0 == .end }
        loop.shutdown()
    }
}

/// A guest with a socket and a deadline.
private final class Guest: SocketLoopGuest {
    enum Event: Hashable, Sendable {
        case turn(String)
        case ready(SocketReadiness)
        case end
    }

    let log = EventLog<Event>()
    private let loop: MQTTEventLoop
    private let pipe = Pipe()

    init(of loop: MQTTEventLoop) { self.loop = loop }

    func write() { self.pipe.fileHandleForWriting.write(Data([1])) }

    func handle(_ descriptor: Int32, _ readiness: SocketReadiness) {
        self.loop.watch(descriptor, for: [], of: self)
        self.log.append([.ready(readiness)])
        self.loop.schedule(self)
    }

    func run(now: MonotonicTime) -> SocketLoopTurn {
        let name = try? String(contentsOf: URL(filePath: "/proc/thread-self/comm"), encoding: .utf8)
        let events = self.log.elements
        if events.isEmpty {
            self.loop.watch(self.pipe.fileHandleForReading.fileDescriptor, for: .read, of: self)
        } else if events.count(where: { $0 == .turn("host") }) == 2 {
            self.log.append([.end])
            return .ended
        }
        self.log.append([.turn(name?.trimmingCharacters(in: .newlines) ?? "unknown")])
        return .waiting(until: events.isEmpty ? nil : now.advanced(by: .milliseconds(20)))
    }
}
