private import Synchronization
package import TrackingCore

/// Lets tasks wait for a condition that other code changes. The code that changes the condition calls ``notify()``.
package final class WakeSignal: Sendable {
    private struct State {
        var waiters: [Int: Waiter] = [:]
        var lastKey = 0
    }

    private let state = Mutex(State())

    /// Creates a signal on which no task waits yet.
    package init() {}

    /// Makes every waiting task evaluate its condition again. Call this method after each change of the condition.
    package func notify() {
        for waiter in self.state.withLock({ Array($0.waiters.values) }) { waiter.signal(.news) }
    }

    /// Waits until a condition holds. Any number of tasks can wait at once.
    ///
    /// - Parameters:
    ///   - deadline: The time at which the wait ends without the condition; `nil` for no limit.
    ///   - condition: The condition, evaluated at once and after each ``notify()``.
    /// - Returns: `true` if the condition holds; `false` after the deadline or when the task is cancelled.
    package func wait(until deadline: MonotonicTime? = nil, for condition: () -> Bool) async -> Bool {
        let waiter = Waiter()
        // The waiter is added before the condition is evaluated, so that no change in between is missed.
        let key = self.state.withLock { state in
            state.lastKey += 1
            state.waiters[state.lastKey] = waiter
            return state.lastKey
        }
        defer { _ = self.state.withLock { $0.waiters.removeValue(forKey: key) } }
        while !condition() {
            if Task.isCancelled { return false }
            if let deadline, DeviceClock.now >= deadline { return false }
            _ = await waiter.next(until: deadline)
        }
        return true
    }
}
