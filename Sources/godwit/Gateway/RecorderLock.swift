import SystemLibrary
import TrackingCore
import TrackingRuntime

/// A lock file beside a SQLite history. It shows a gateway that another recorder, `godwit record`, stores into the
/// history; the gateway's own recorder then pauses. Several recorders may hold the lock at the same time. The lock is
/// released when the program ends.
final class RecorderLock {
    private let descriptor: CInt

    /// Takes the lock of the history at `path`, which other recorders may hold as well. If the lock file cannot be
    /// created, the recorder runs without the lock.
    init(history path: String) {
        self.descriptor = open(Self.file(of: path), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { return }
        while flock(self.descriptor, LOCK_SH) != 0, errno == EINTR {}
        // Wakes the gateway, which watches the file.
        FileChanges.touch(Self.file(of: path))
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    /// Returns `true` if a recorder holds the lock of the history at `path`.
    static func isHeld(history path: String) -> Bool {
        let descriptor = open(self.file(of: path), O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    /// Waits until a recorder holds the lock of a history (if `isHeld` is `true`), or until none holds it (if `isHeld`
    /// is `false`).
    ///
    /// - Returns: `true` when the lock is held or free, as requested; `false` when the task is cancelled before.
    static func wait(untilHeld isHeld: Bool, history path: String) async -> Bool {
        let waiter = Waiter()
        // A released lock is no change of the file, so a thread waits for the lock itself.
        let changes = isHeld ? FileChanges(self.file(of: path)) { waiter.signal(.news) } : nil
        defer { changes?.cancel() }
        while self.isHeld(history: path) != isHeld {
            if Task.isCancelled { return false }
            let isWatched = isHeld ? changes != nil : self.startWaitingForRelease(of: path, waiter)
            let deadline = isWatched ? nil : DeviceClock.now.advanced(by: self.fallbackInterval)
            if await waiter.next(until: deadline).contains(.cancelled) { return false }
        }
        return true
    }

    /// The time between two checks of the lock. The checks are made only if the system has no file watch or thread left
    /// to report changes of the lock.
    private static let fallbackInterval = Duration.seconds(5)

    /// Starts a thread that waits until no recorder holds the lock of the history at `path`, and then wakes the task
    /// that waits at `waiter`. The thread goes on even if that task is cancelled.
    ///
    /// - Returns: `false` when the system has no thread left.
    private static func startWaitingForRelease(of path: String, _ waiter: Waiter) -> Bool {
        let file = self.file(of: path)
        return DetachedThread.start {
            let descriptor = open(file, O_RDWR | O_CLOEXEC)
            if descriptor >= 0 {
                while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
                close(descriptor)
            }
            waiter.signal(.news)
        }
    }

    private static func file(of path: String) -> String { "\(path).recorder" }
}
