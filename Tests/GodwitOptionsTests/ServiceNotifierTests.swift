import Foundation
import TestSupport
import Testing

@testable import GodwitOptions

/// The reports to the service manager, on a socket of the test.
@Suite(.timeLimit(.minutes(5))) struct ServiceNotifierTests {
    @Test(arguments: [false, true])
    func theServiceManagerReceivesEachReport(isAbstract: Bool) async throws {
        let manager = try NotifySocket(isAbstract: isAbstract)
        let notifier = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": manager.name]))
        #expect(notifier.watchdogInterval == nil)
        notifier.ready()
        notifier.watchdog()
        notifier.status("carries\n3 trackables")
        notifier.stopping()
        for message in ["READY=1", "WATCHDOG=1", "STATUS=carries 3 trackables", "STOPPING=1"] {
            #expect(try await manager.next() == message)
        }
    }

    @Test func theWatchdogHearsOfAProgramThatIsAlive() async throws {
        let manager = try NotifySocket(isAbstract: true)
        let notifier = try #require(
            ServiceNotifier(environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "20000"]))
        #expect(notifier.watchdogInterval == .milliseconds(20))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await notifier.keepAlive {} }
            defer { group.cancelAll() }
            for _ in 0..<3 {
                let message = try await manager.next()
                #expect(message == "WATCHDOG=1")
            }
        }
    }

    @Test func theWatchdogHearsNothingOfAProgramThatHangs() async throws {
        let manager = try NotifySocket(isAbstract: true)
        let notifier = try #require(
            ServiceNotifier(environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "1000"]))
        let (checks, check) = AsyncStream.makeStream(of: Void.self)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await notifier.keepAlive {
                    check.yield()
                    try? await Task.sleep(for: .seconds(1000))  // an agent that hangs; it is cancelled
                }
            }
            for await _ in checks { break }
            #expect(!manager.hasMessage)
            group.cancelAll()
        }
    }

    private func isAlone(_ environment: [String: String]) -> Bool {
        if case nil = ServiceNotifier(environment: environment) { true } else { false }
    }

    @Test func nothingHappensWithoutAServiceManager() throws {
        #expect(self.isAlone([:]))
        #expect(self.isAlone(["NOTIFY_SOCKET": "relative"]))
        #expect(self.isAlone(["NOTIFY_SOCKET": "vsock:2:1"]))
        #expect(self.isAlone(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]))
        let gone = try #require(ServiceNotifier(environment: ["NOTIFY_SOCKET": "/nonexistent/notify"]))
        gone.ready()
    }

    @Test func aWatchdogForAnotherProcessIsNotMeant() throws {
        let environment = ["NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"]
        #expect(try #require(ServiceNotifier(environment: environment)).watchdogInterval == nil)
        let own = environment.merging(["WATCHDOG_PID": "\(getpid())"]) { $1 }
        #expect(try #require(ServiceNotifier(environment: own)).watchdogInterval == .seconds(1))
    }
}
