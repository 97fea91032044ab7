import Synchronization
import TrackingCore

extension LogWorker {
    /// The jobs that the worker has not begun.
    final class Queue: Sendable {
        private let state = Mutex(State())
        private let bounds: Mutex<SpoolLimits>
        private let ages = Mutex(true)
        let signals: AsyncStream<Void>
        private let signal: AsyncStream<Void>.Continuation

        private struct State {
            var jobs: [Job] = []
            /// The number of additions that could wait, since the worker was woken.
            var suppressed = 0
            var isClosed = false
        }

        /// The number of additions that can wait before the worker is woken for them.
        private static let mostSuppressed = 5

        /// The limits of the log.
        var limits: SpoolLimits {
            get { self.bounds.withLock { $0 } }
            set { self.bounds.withLock { $0 = newValue } }
        }

        /// See ``LogWorker/knowsAges``.
        var knowsAges: Bool {
            get { self.ages.withLock { $0 } }
            set { self.ages.withLock { $0 = newValue } }
        }

        init(limits: SpoolLimits) {
            self.bounds = Mutex(limits)
            (self.signals, self.signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        }

        /// - Returns: `true` when the jobs will be done; `false` after the queue was closed.
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

        /// Wakes the worker without a job.
        func wake() { self.signal.yield() }

        func finish() { self.signal.finish() }
    }
}
