import Glibc
import TrackingCore

/// One program at a time on a log, from before anything is decided about its files: a second one must not set aside what the
/// first one writes. Let go with the value, or with the program.
final class SpoolLock {
    private let descriptor: CInt

    /// Takes the lock beside the log. Where no such file can be made SQLite's own lock must do.
    ///
    /// - Throws: `spoolFailed` where another program has it.
    init(log path: String) throws(TrackingError) {
        self.descriptor = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0, flock(self.descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        throw TrackingError(.spoolFailed, "the log \(path) is in use by another program: give each a log of its own")
    }

    deinit {
        guard self.descriptor >= 0 else { return }
        // A program that is being started meanwhile has the descriptor too until it runs: to close ours alone lets nothing go.
        flock(self.descriptor, LOCK_UN)
        close(self.descriptor)
    }
}
