import SystemLibrary
import TrackingCore

/// A lock file in a state folder, the folder of a gateway's or a bridge's own data. It prevents that two gateways or
/// two bridges run on the same folder. The lock is released when the program ends.
final class StateLock {
    private let descriptor: CInt

    /// Takes the lock of a state folder. If the lock file cannot be created, the program runs without the lock.
    ///
    /// - Parameters:
    ///   - path: The path of the lock file.
    ///   - program: The name of the program for the error message.
    /// - Throws: `spoolFailed` if another program holds the lock.
    init(path: String, of program: String) throws(TrackingError) {
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0, flock(self.descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
        close(self.descriptor)
        throw TrackingError(
            .spoolFailed,
            "cannot start: another '\(program)' runs on the same state folder (lock file \(path)). Give each program its own --state"
        )
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }
}
