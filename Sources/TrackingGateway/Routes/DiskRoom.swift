import Glibc

/// The room on a disk.
package enum DiskRoom {
    /// The bytes below which a disk counts as full: SQLite needs some for its log even to remove something.
    static let minimumBytes: UInt64 = 1_048_576

    /// Returns whether the disk of a file has no room for this user. A disk that cannot be asked is not full.
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
