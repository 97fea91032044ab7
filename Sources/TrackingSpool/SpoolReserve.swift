import SystemLibrary

/// A file that reserves room on the disk. When the disk is full, the file is removed, because removing records
/// temporarily takes room as well.
struct SpoolReserve {
    /// The number of reserved bytes. It is larger than the write-ahead log can become before SQLite moves its content
    /// into the log's file.
    static let size = 8 << 20

    let path: String
    private(set) var isHeld = false

    init(path: String) { self.path = path }

    /// Makes the file that reserves room on the disk, unless it exists already.
    ///
    /// - Returns: `true` if the room is reserved now; `false` if the file cannot be made, for example because the disk
    ///   is too full.
    mutating func hold() -> Bool {
        if self.isHeld { return true }
        let descriptor = open(self.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        #if os(Linux)
            let isThere = posix_fallocate(descriptor, 0, off_t(Self.size)) == 0
        #else
            let isThere = ftruncate(descriptor, off_t(Self.size)) == 0
        #endif
        if !isThere { unlink(self.path) }
        self.isHeld = isThere
        return isThere
    }

    /// Removes the file that reserves room on the disk, so that the log can use the room.
    mutating func release() {
        unlink(self.path)
        self.isHeld = false
    }
}
