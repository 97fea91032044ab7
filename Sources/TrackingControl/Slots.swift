import Synchronization

/// Counts the operations that run at a time, up to a limit.
package final class Slots: Sendable {
    private let taken = Mutex(0)
    private let limit: Int

    /// Creates a counter for at most `limit` operations; none runs yet.
    package init(_ limit: Int) { self.limit = limit }

    /// Begins an operation. Returns `false` if as many operations as the limit allows are running.
    package func enter() -> Bool {
        self.taken.withLock { taken in
            guard taken < self.limit else { return false }
            taken += 1
            return true
        }
    }

    /// Ends an operation, so that another one can begin.
    package func leave() { self.taken.withLock { $0 -= 1 } }
}
