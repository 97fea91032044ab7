import TrackingCore

/// The calls of a log that wait for the log's thread, in order. Writing calls are performed together in one
/// transaction.
struct SpoolJobs: Sendable {
    /// One call of the log, to be performed on the log's thread.
    struct Job: Sendable {
        enum Kind: Hashable {
            /// A job that opens, closes or reads. It runs alone.
            case alone
            /// A job that writes `count` records and adds `growth` bytes. It runs in one transaction with other jobs
            /// that write.
            case write(count: Int, isDurable: Bool, growth: Int = 0)
        }

        var kind: Kind
        /// Performs the job on the log's thread. Returns a closure that resumes the task which made the call. The log's
        /// thread calls the closure once the job's transaction is committed.
        var run: @Sendable (inout SpoolFile?) throws -> @Sendable () -> Void
        var fail: @Sendable (SpoolFile?, TrackingError) -> Void
    }

    /// The maximum number of records in one transaction, unless a single call has more.
    private static let recordsTogether = 10_000
    /// The maximum number of bytes in one transaction, unless a single call has more. It keeps the write-ahead log
    /// small.
    private static let bytesTogether = 1 << 20

    private var jobs: [Job] = []
    private var isWorking = false

    /// Adds a job to the end of the queue of the log's thread.
    ///
    /// - Returns: `true` if the log's thread is not working now, so that this method's caller must start it.
    mutating func add(_ job: Job) -> Bool {
        self.jobs.append(job)
        defer { self.isWorking = true }
        return !self.isWorking
    }

    /// Removes the next jobs from the queue and returns them. Several writing jobs are returned together, to be
    /// performed in one transaction. A job that opens, closes or reads is returned alone. Returns none if the queue is
    /// empty: the log's thread then stops until a job is added.
    mutating func takeNext() -> [Job] {
        let count = self.together
        self.isWorking = count > 0
        defer { self.jobs.removeFirst(count) }
        return Array(self.jobs.prefix(count))
    }

    /// The number of jobs at the head of the queue that are performed together: 1 if the first job opens, closes or
    /// reads, otherwise the writing jobs that fit into one transaction. 0 for an empty queue.
    private var together: Int {
        var (records, bytes) = (0, 0)
        for (place, job) in self.jobs.enumerated() {
            guard case .write(let count, _, let growth) = job.kind else { return max(place, 1) }
            records += count
            bytes += growth
            if place > 0, records > Self.recordsTogether || bytes > Self.bytesTogether { return place }
        }
        return self.jobs.count
    }
}
