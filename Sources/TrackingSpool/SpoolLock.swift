import SystemLibrary
import TrackingCore

/// The lock by which only one program at a time can open a device's log. It is taken before the files of the log are
/// examined, because a second program must not set aside a file that the first one writes. It is released when this
/// object is released or the program ends.
final class SpoolLock {
    private let descriptor: CInt

    /// Takes the lock, a file beside the log. If that file cannot be made, only SQLite's own lock protects the log.
    ///
    /// - Throws: `spoolFailed` when another program has the lock.
    init(log path: String) throws(TrackingError) {
        self.descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0, flock(self.descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        throw TrackingError(
            .spoolFailed,
            "cannot open the log \(path): it is in use by another program. Give each program a log of its own")
    }

    deinit {
        guard self.descriptor >= 0 else { return }
        // A child program that is being started inherits the descriptor until it runs, so closing ours would not
        // release the lock.
        flock(self.descriptor, LOCK_UN)
        close(self.descriptor)
    }
}
