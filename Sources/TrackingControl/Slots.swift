import Synchronization

/// Counts the operations that are running, and limits how many may run at the same time.
package final class Slots: Sendable {
    private let taken = Mutex(0)
    private let limit: Int

    /// Creates a counter that allows at most `limit` operations, such as commands or connections of clients, to run at
    /// the same time. None is running yet.
    package init(_ limit: Int) { self.limit = limit }

    /// Counts an operation that is about to begin, and returns `true`. Returns `false`, and counts nothing, if the
    /// limit of running operations is reached; the operation must then not begin.
    package func enter() -> Bool {
        self.taken.withLock { taken in
            guard taken < self.limit else { return false }
            taken += 1
            return true
        }
    }

    /// Counts an operation as ended, so that another one can begin.
    package func leave() { self.taken.withLock { $0 -= 1 } }
}
