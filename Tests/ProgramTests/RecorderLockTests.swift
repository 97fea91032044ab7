import Foundation
import Testing

@testable import godwit

/// The lock of a recorder: a gateway waits for its holder to come and to leave.
@Suite(.timeLimit(.minutes(1))) final class RecorderLockTests {
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "godwit-lock-\(UUID().uuidString).sqlite").path()

    deinit { try? FileManager.default.removeItem(atPath: "\(self.path).recorder") }

    @Test func aWaitEndsWhenARecorderTakesTheLock() async {
        let path = self.path
        #expect(!RecorderLock.isHeld(history: path))
        async let isHeld = RecorderLock.wait(untilHeld: true, history: path)
        let lock = RecorderLock(history: path)
        #expect(await isHeld)
        withExtendedLifetime(lock) {}
    }

    @Test func aWaitEndsWhenTheLastRecorderReleasesTheLock() async {
        let path = self.path
        var locks = [RecorderLock(history: path), RecorderLock(history: path)]
        #expect(RecorderLock.isHeld(history: path))
        async let isFree = RecorderLock.wait(untilHeld: false, history: path)
        locks.removeFirst()
        #expect(RecorderLock.isHeld(history: path))
        locks.removeFirst()
        #expect(await isFree)
        #expect(!RecorderLock.isHeld(history: path))
    }

    @Test(arguments: [false, true]) func cancellationEndsTheWait(untilHeld: Bool) async {
        let path = self.path
        let lock = untilHeld ? nil : RecorderLock(history: path)
        await withTaskGroup(of: Bool.self) { group in
            group.addTask { await RecorderLock.wait(untilHeld: untilHeld, history: path) }
            await Task.yield()
            group.cancelAll()
            #expect(await group.next() == false)
        }
        withExtendedLifetime(lock) {}
    }
}
