import Dispatch

/// The one thread on which a device's log makes all its calls of SQLite. It is also a task executor, so that tasks can
/// run on this thread.
final class SpoolThread: TaskExecutor {
    private let queue = DispatchQueue(label: "godwit.spool")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Runs `body` on the log's thread, after all work that was enqueued there before. Returns at once.
    func async(_ body: @escaping @Sendable () -> Void) { self.queue.async(execute: body) }

    /// Runs `body` on the log's thread once the duration `wait` has passed.
    func async(after wait: Duration, _ body: @escaping @Sendable () -> Void) {
        let (seconds, attoseconds) = wait.components
        self.queue.asyncAfter(deadline: .now() + Double(seconds) + Double(attoseconds) / 1e18, execute: body)
    }
}
