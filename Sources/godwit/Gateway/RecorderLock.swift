import Glibc

/// The lock of the recorders that store into one SQLite history, a file beside it. Several may hold it. A gateway's built-in recorder
/// records only while nobody holds it. Released with the program.
final class RecorderLock {
    private let descriptor: CInt

    /// Takes the lock. Where its file cannot be made, nothing is taken: recorders may store together.
    init(history path: String) {
        self.descriptor = open(Self.file(of: path), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { return }
        while flock(self.descriptor, LOCK_SH) != 0, errno == EINTR {}
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    /// Returns whether a recorder holds the lock of a history.
    static func isHeld(history path: String) -> Bool {
        let descriptor = open(self.file(of: path), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    private static func file(of path: String) -> String { "\(path).recorder" }
}
