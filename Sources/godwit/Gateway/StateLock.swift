import SystemLibrary
import TrackingCore

/// The lock of a state folder: only one gateway and one bridge run on it. The end of the program releases it.
final class StateLock {
    private let descriptor: CInt

    /// Takes the lock. If its file cannot be created, only the lock of the log protects the folder.
    ///
    /// - Throws: `spoolFailed` if another program holds the lock.
    init(path: String, of program: String) throws(TrackingError) {
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0, flock(self.descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        close(self.descriptor)
        throw TrackingError(
            .spoolFailed, "another '\(program)' runs on this folder (\(path)). Give each its own --state")
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }
}
