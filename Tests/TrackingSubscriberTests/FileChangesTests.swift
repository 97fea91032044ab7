import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingRuntime

/// The watch of a path: it reports what any process does with the file.
@Suite(.timeLimit(.minutes(1))) final class FileChangesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-changes-\(UUID().uuidString)")
    private let signal = WakeSignal()
    private let count = Mutex(0)
    private var path: String { self.folder.appending(path: "file").path() }

    init() throws { try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    private func watch() throws -> FileChanges {
        try #require(
            FileChanges(self.path) { [self] in
                self.count.withLock { $0 += 1 }
                self.signal.notify()
            })
    }

    /// Performs an action, and waits until the watch has reported it.
    private func isReported(_ action: () throws -> Void) async rethrows -> Bool {
        let before = self.count.withLock { $0 }
        try action()
        let deadline = DeviceClock.now.advanced(by: .seconds(20))
        return await self.signal.wait(until: deadline) { self.count.withLock { $0 } > before }
    }

    @Test func aNewFileATouchAndARemovalAreReported() async throws {
        let changes = try self.watch()
        defer { changes.cancel() }
        for _ in 0..<2 {
            #expect(await self.isReported { FileManager.default.createFile(atPath: self.path, contents: nil) })
            #expect(await self.isReported { FileChanges.touch(self.path) })
            #expect(try await self.isReported { try FileManager.default.removeItem(atPath: self.path) })
        }
    }

    @Test func aTouchByAnotherProcessIsReported() async throws {
        FileManager.default.createFile(atPath: self.path, contents: nil)
        let changes = try self.watch()
        defer { changes.cancel() }
        let touch = Process()
        touch.executableURL = URL(filePath: "/usr/bin/touch")
        touch.arguments = [self.path]
        #expect(try await self.isReported { try touch.run() })
        touch.waitUntilExit()
    }

    @Test func theRemovalOfTheFolderIsReported() async throws {
        let changes = try self.watch()
        defer { changes.cancel() }
        #expect(try await self.isReported { try FileManager.default.removeItem(at: self.folder) })
    }

    @Test func otherFilesOfTheFolderAreNotReported() async throws {
        let changes = try self.watch()
        defer { changes.cancel() }
        for name in ["fil", "file2", "other"] {
            FileManager.default.createFile(atPath: self.folder.appending(path: name).path(), contents: nil)
        }
        // Events are delivered in order, so this one comes after those of the other files.
        #expect(await self.isReported { FileManager.default.createFile(atPath: self.path, contents: nil) })
        #expect(self.count.withLock { $0 } == 1)
    }

    @Test func aPathWithoutAFolderCannotBeWatched() {
        #expect(FileChanges(self.folder.appending(path: "missing/file").path()) {} == nil)
    }
}
