private import Synchronization
package import SystemLibrary

/// A child process that this program has started. One task can wait for its end while another one kills it. A kill never
/// hits another process that has received the same process number.
package final class RunningProgram: Sendable {
    private struct State {
        /// `true` once the end of the program was collected. The system may then give the process number to another
        /// process, so the program must not be killed any more.
        var isCollected = false
        var wasKilled = false
    }

    private let id: pid_t
    private let state = Mutex(State())

    /// Makes the object with which a child process that runs already can be waited for and killed.
    ///
    /// - Parameter id: The process number, which is also the number of the child's process group.
    package init(_ id: pid_t) { self.id = id }

    /// `true` if ``kill()`` sent the kill signal before the end of the program was known.
    package var wasKilled: Bool { self.state.withLock { $0.wasKilled } }

    /// Kills the program and its child processes with SIGKILL. Does nothing if the end of the program was already
    /// collected.
    package func kill() {
        self.state.withLock { state in
            guard !state.isCollected else { return }
            state.wasKilled = true
            SystemLibrary.kill(-self.id, SIGKILL)
        }
    }

    /// Waits for the end of the program, even if the task is cancelled. Kills the program if the system has no thread
    /// left for the wait. Call it once.
    ///
    /// - Returns: The exit status as `waitpid` returns it; `nil` if the system does not know it.
    package func end() async -> Int32? {
        await withCheckedContinuation { continuation in
            let isStarted = DetachedThread.start { continuation.resume(returning: self.collect()) }
            if !isStarted {
                // Without a thread, only a program that ends at once can be waited for.
                self.kill()
                continuation.resume(returning: self.collect())
            }
        }
    }

    /// Blocks until the program has ended, and returns its exit status. The lock prevents ``kill()`` while the process
    /// number is released, so that no other process is killed.
    private func collect() -> Int32? {
        var information = siginfo_t()
        while waitid(P_PID, id_t(self.id), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        return self.state.withLock { state in
            state.isCollected = true
            var status: Int32 = 0
            return waitpid(self.id, &status, 0) == self.id ? status : nil
        }
    }
}
