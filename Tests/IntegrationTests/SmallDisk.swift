import Foundation
import TestSupport
import Testing

/// A small file system in memory, for tests that may mount one.
enum SmallDisk {
    /// `true` if this user may mount a file system.
    static let isAllowed = geteuid() == 0

    /// Mounts a file system of a number of bytes, and removes it after `body`.
    static func use(of bytes: Int, _ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-disk-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await ChildProcess.run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(bytes)", "tmpfs", folder.path()])
        do { try await body(folder) } catch {
            try? await ChildProcess.run("/bin/umount", ["-l", folder.path()])
            throw error
        }
        try await ChildProcess.run("/bin/umount", ["-l", folder.path()])
    }

    /// Fills a disk to the last byte, with the file ``filler``.
    static func fill(_ disk: URL) throws {
        let descriptor = open(disk.appending(path: self.filler).path(), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        for size in [1 << 16, 1] {
            let bytes = [UInt8](repeating: 0, count: size)
            while write(descriptor, bytes, size) > 0 {}
        }
    }

    /// The file to remove for free space.
    static let filler = "filler"
}
