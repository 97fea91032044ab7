import Foundation
import Synchronization
import Testing
import TrackingCore
import TrackingRuntime

/// The watch of a path: it reports what any process does with the file.
@Suite(.timeLimit(.minutes(1))) final class FileChangesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-changes-\(UUID().uuidString)")
    private let reports = Reports()
    private var path: String { self.folder.appending(path: "file").path() }

    /// The number of reported changes.
    private final class Reports: Sendable {
        private let signal = WakeSignal()
        private let total = Mutex(0)
        var count: Int { self.total.withLock { $0 } }

        func add() {
            self.total.withLock { $0 += 1 }
            self.signal.notify()
        }

        func grew(beyond count: Int, within limit: Duration = .seconds(20)) async -> Bool {
            await self.signal.wait(until: DeviceClock.now.advanced(by: limit)) { self.count > count }
        }
    }

    init() throws { try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    private func watch() throws -> FileChanges {
        let changes = FileChanges(self.path) { [reports = self.reports] in reports.add() }
        return try #require(changes)
    }

    private func makeFile(_ name: String = "file") throws { try Data().write(to: self.folder.appending(path: name)) }

    /// Performs an action, and waits until the watch has reported it.
    private func isReported(_ action: () throws -> Void) async rethrows -> Bool {
        let before = self.reports.count
        try action()
        return await self.reports.grew(beyond: before)
    }

    @Test func aNewFileATouchAndARemovalAreReported() async throws {
        let changes = try self.watch()
        defer { changes.cancel() }
        for _ in 0..<2 {
            #expect(try await self.isReported { try self.makeFile() })
            #expect(await self.isReported { FileChanges.touch(self.path) })
            #expect(try await self.isReported { try FileManager.default.removeItem(atPath: self.path) })
        }
    }

    @Test func aTouchByAnotherProcessIsReported() async throws {
        try self.makeFile()
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
            try self.makeFile(name)
        }
        #expect(await !self.reports.grew(beyond: 0, within: .milliseconds(200)))
        #expect(try await self.isReported { try self.makeFile() })
    }

    @Test func aPathWithoutAFolderCannotBeWatched() {
        let changes = FileChanges(self.folder.appending(path: "missing/file").path()) {}
        #expect(changes == nil)
    }
}
