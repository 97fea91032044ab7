import SystemLibrary

/// Checks the free space of the disks that the gateway writes to.
package enum DiskRoom {
    /// The number of free bytes below which a disk counts as full: 1 MiB. SQLite needs space for its log even to delete
    /// rows.
    static let minimumBytes: UInt64 = 1_048_576

    /// Returns `true` if the disk of a file is full: it has less than ``minimumBytes`` free for this user, or no room
    /// for a further file. Returns `false` if the system does not report the disk's space.
    package static func isFull(at path: String) -> Bool {
        var status = statvfs()
        guard statvfs(path, &status) == 0 || statvfs(self.folder(of: path), &status) == 0 else { return false }
        let bytes = UInt64(status.f_bavail) * UInt64(status.f_frsize)
        // Some file systems do not limit the number of files and report 0 for it.
        return bytes < self.minimumBytes || (status.f_files > 0 && status.f_favail == 0)
    }

    private static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    }
}
