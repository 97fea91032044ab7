import Foundation

/// Room on the disk that is kept for the day when it is full: to remove a record takes room as well, for a while.
struct SpoolReserve {
    /// More than the write-ahead log takes before it goes into the file.
    static let size = 8 << 20

    let path: String
    private(set) var isHeld = false

    init(path: String) { self.path = path }

    /// Takes the room, unless it is held.
    ///
    /// - Returns: Whether it is held now.
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

    /// Gives the room free.
    mutating func release() {
        unlink(self.path)
        self.isHeld = false
    }
}
