import Synchronization
import TrackingCore

extension LogWorker {
    /// What is asked and not taken up yet.
    final class Queue: Sendable {
        private let state = Mutex(State())
        private let bounds: Mutex<SpoolLimits>
        private let ages = Mutex(true)
        let signals: AsyncStream<Void>
        private let signal: AsyncStream<Void>.Continuation

        private struct State {
            var jobs: [Job] = []
            /// How often something was added that can wait, since the worker was woken.
            var unsaid = 0
            var isClosed = false
        }

        /// How often something that can wait is added until the worker is woken for it.
        private static let mostUnsaid = 5

        /// What the log may hold.
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

        /// - Returns: Whether they will be done.
        @discardableResult
        func add(_ jobs: [Job], isUrgent: Bool = true) -> Bool {
            let (isTaken, mustWake) = self.state.withLock { state in
                if !state.isClosed { state.jobs += jobs }
                state.unsaid += 1
                let mustWake = isUrgent || state.unsaid >= Self.mostUnsaid
                if mustWake { state.unsaid = 0 }
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

        /// There is something to do, though nobody asks for it.
        func wake() { self.signal.yield() }

        func finish() { self.signal.finish() }
    }
}

extension LogWorker {
    /// What is asked in between two records would write them apart: it is looked up before them, but behind what its own trackable
    /// is about to know, as where the log was opened anew meanwhile.
    static func findingFirst(_ jobs: [Job]) -> [Job] {
        var (first, others): ([Job], [Job]) = ([], [])
        var brought = Set<TrackableID>()
        for job in jobs {
            switch job {
            case .action(let id, .find) where !brought.contains(id):
                first.append(job)
                continue
            case .action(let id, .append(_, _, .some)): brought.insert(id)
            default: break
            }
            others.append(job)
        }
        return first + others
    }
}
