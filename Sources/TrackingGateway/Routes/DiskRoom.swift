import SystemLibrary

/// The free space on a disk.
package enum DiskRoom {
    /// The number of free bytes below which a disk is full. SQLite needs space for its log even to delete rows.
    static let minimumBytes: UInt64 = 1_048_576

    /// Returns `true` if the disk of a file has no free space for this user, and `false` if the disk cannot be
    /// queried.
    package static func isFull(at path: String) -> Bool {
        var status = statvfs()
        guard statvfs(path, &status) == 0 || statvfs(self.folder(of: path), &status) == 0 else { return false }
        let bytes = UInt64(status.f_bavail) * UInt64(status.f_frsize)
        // Some file systems do not count files.
        return bytes < self.minimumBytes || (status.f_files > 0 && status.f_favail == 0)
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    }
}
