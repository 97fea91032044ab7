import SystemLibrary

/// A lock file beside a SQLite history, which the recorders that store into the history hold together. A gateway's
/// built-in recorder records only while no other recorder holds the lock. The lock is released when the program ends.
final class RecorderLock {
    private let descriptor: CInt

    /// Takes the lock of the history at `path`. If the lock file cannot be created, the recorder runs without the lock,
    /// because recorders may store together.
    init(history path: String) {
        self.descriptor = open(Self.file(of: path), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { return }
        while flock(self.descriptor, LOCK_SH) != 0, errno == EINTR {}
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    /// Returns `true` if a recorder holds the lock of the history at `path`.
    static func isHeld(history path: String) -> Bool {
        let descriptor = open(self.file(of: path), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    private static func file(of path: String) -> String { "\(path).recorder" }
}
