private import Synchronization
package import TrackingCore

/// The reasons for which a ``Waiter`` woke up; several may be set.
package struct Wake: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A reason why a wait ended: the awaited file or socket can now be read or written.
    package static let ready = Wake(rawValue: 1)
    /// A reason why a wait ended: another task or thread signalled news for the waiting task.
    package static let news = Wake(rawValue: 2)
    /// A reason why a wait ended: its deadline has passed.
    package static let deadline = Wake(rawValue: 4)
    /// A reason why a wait ended: the waiting task was cancelled.
    package static let cancelled = Wake(rawValue: 8)
}

/// Lets one task wait for signals from other threads and tasks. A signal that comes while no task waits is stored for
/// the next wait.
package final class Waiter: Sendable {
    private struct State {
        var pending: Wake = []
        var continuation: CheckedContinuation<Wake, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Wakes the waiting task with a reason, or stores the reason as a signal for the task's next wait.
    package func signal(_ wake: Wake) {
        let waiting = self.state.withLock { state -> (CheckedContinuation<Wake, Never>, Wake)? in
            state.pending.formUnion(wake)
            guard let continuation = state.continuation else { return nil }
            defer { state = State() }
            return (continuation, state.pending)
        }
        waiting?.0.resume(returning: waiting?.1 ?? [])
    }

    /// Removes a stored signal, because it belongs to an earlier wait.
    package func forget(_ wake: Wake) { self.state.withLock { $0.pending.subtract(wake) } }

    /// Removes a stored signal, so that the next wait does not return because of it.
    ///
    /// - Returns: `true` if the signal was stored.
    package func take(_ wake: Wake) -> Bool {
        self.state.withLock { state in
            defer { state.pending.subtract(wake) }
            return state.pending.contains(wake)
        }
    }

    /// Waits until a signal comes, a file is ready, or a deadline passes. Call this method from one task at a time.
    ///
    /// - Parameters:
    ///   - deadline: The latest time to wake; `nil` for no limit.
    ///   - descriptor: The file whose readiness wakes the task; `nil` for none.
    ///   - isWriting: `true` to wait until the file can be written; `false` until it can be read.
    /// - Returns: The reasons for which the task woke up.
    package func next(
        until deadline: MonotonicTime?, descriptor: Int32? = nil, isWriting: Bool = false
    ) async -> Wake {
        guard deadline != nil || descriptor != nil else { return await self.next() }
        self.forget([.ready, .deadline])
        let interest = Poller.Interest(descriptor: descriptor, isWriting: isWriting, deadline: deadline)
        let id = Poller.shared.arm(interest, self)
        defer { Poller.shared.disarm(id) }
        return await self.next()
    }

    /// Waits until another task or thread signals this waiter, or returns at once if a signal is stored. Call this
    /// method from one task at a time.
    ///
    /// - Returns: The reasons that were signalled.
    package func next() async -> Wake {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let pending = self.state.withLock { state -> Wake in
                    if state.pending.isEmpty { state.continuation = continuation }
                    defer { state.pending = [] }
                    return state.pending
                }
                if !pending.isEmpty { continuation.resume(returning: pending) }
            }
        } onCancel: {
            self.signal(.cancelled)
        }
    }
}
