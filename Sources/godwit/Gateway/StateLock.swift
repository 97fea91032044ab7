import Glibc
import TrackingCore

/// One gateway, and one bridge, at a time on a folder: found out before anything is listened to. Let go with the program.
final class StateLock {
    private let descriptor: CInt

    /// Takes the lock. Where no such file can be made, the log's own lock must do.
    ///
    /// - Throws: `spoolFailed` where another program has it.
    init(path: String, of program: String) throws(TrackingError) {
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0, flock(self.descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        close(self.descriptor)
        throw TrackingError(
            .spoolFailed, "another '\(program)' runs on this folder (\(path)): give each its own --state")
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }
}
