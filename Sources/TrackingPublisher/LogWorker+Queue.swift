import Synchronization
import TrackingCore

extension LogWorker {
    /// The jobs that the log's worker, which writes and reads the log, has not begun.
    final class Queue: Sendable {
        private let state = Mutex(State())
        private let bounds: Mutex<SpoolLimits>
        private let ages = Mutex(true)
        private let unwritten = Mutex(Unwritten())
        let signals: AsyncStream<Void>
        private let signal: AsyncStream<Void>.Continuation

        private struct State {
            var jobs: [Job] = []
            /// The number of calls of ``add(_:isUrgent:)`` that did not wake the log's worker, since the call that woke
            /// it last.
            var suppressed = 0
            var isClosed = false
        }

        /// The records that could not be written to the device's log since the program started.
        struct Unwritten: Hashable, Sendable {
            var count = 0
            /// The reason why the newest record could not be written; `nil` if it was written.
            var reason: TrackingError?
        }

        /// The number of calls of ``add(_:isUrgent:)`` after which the log's worker is woken even if no job is urgent.
        /// Urgent jobs wake the worker at once.
        private static let mostSuppressed = 5

        /// The limits of the device's log, of its size and of its records' age, which the log's worker applies.
        var limits: SpoolLimits {
            get { self.bounds.withLock { $0 } }
            set { self.bounds.withLock { $0 = newValue } }
        }

        /// `true` if the device's clock is known to be good enough to judge the age of records; see
        /// ``LogWorker/knowsAges``.
        var knowsAges: Bool {
            get { self.ages.withLock { $0 } }
            set { self.ages.withLock { $0 = newValue } }
        }

        /// The records that could not be written so far.
        var losses: Unwritten { self.unwritten.withLock { $0 } }

        /// Counts the result of writing records to the device's log.
        ///
        /// - Parameters:
        ///   - count: The number of the records.
        ///   - error: The reason why they could not be written; `nil` if they were written.
        func note(_ count: Int, _ error: TrackingError?) {
            self.unwritten.withLock { unwritten in
                if error != nil { unwritten.count += count }
                unwritten.reason = error
            }
        }

        init(limits: SpoolLimits) {
            self.bounds = Mutex(limits)
            (self.signals, self.signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        }

        /// Adds jobs for the log's worker. Wakes the worker if the jobs are urgent, or if this function was called
        /// often enough since the worker was last woken.
        ///
        /// - Returns: `true` when the worker will do the jobs; `false` after the queue was closed, when the jobs are
        ///   discarded.
        @discardableResult
        func add(_ jobs: [Job], isUrgent: Bool = true) -> Bool {
            let (isTaken, mustWake) = self.state.withLock { state in
                if !state.isClosed { state.jobs += jobs }
                state.suppressed += 1
                let mustWake = isUrgent || state.suppressed >= Self.mostSuppressed
                if mustWake { state.suppressed = 0 }
                return (!state.isClosed, mustWake)
            }
            if mustWake { self.signal.yield() }
            return isTaken
        }

        func take(isLast: Bool = false) -> [Job] {
            self.state.withLock { state in
                defer { (state.jobs, state.isClosed) = ([], state.isClosed || isLast) }
                return state.jobs
            }
        }

        /// Wakes the log's worker without adding a job.
        func wake() { self.signal.yield() }

        func finish() { self.signal.finish() }
    }
}
