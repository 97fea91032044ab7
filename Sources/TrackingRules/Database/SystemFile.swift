import SystemLibrary

/// Operations on files that Foundation and GRDB do not offer.
enum SystemFile {
    /// Creates a file that only its owner can read and write. Does nothing if the file exists or cannot be created.
    ///
    /// An existing file is not opened: closing it would release the locks that SQLite holds on it in this process.
    static func createPrivate(_ path: String) {
        let descriptor = open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Performs `body` while no other thread or process does so for a file of the same folder. Does not lock if the
    /// folder cannot be opened.
    static func exclusively<Value>(inFolderOf path: String, _ body: () throws -> Value) rethrows -> Value {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return try body() }
        defer {
            // A child program that is being started inherits the descriptor until it runs, so closing ours would not
            // release the lock.
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        return try body()
    }
}
