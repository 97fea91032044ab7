import Synchronization

/// How many do something at a time, where there is a limit to it.
package final class Slots: Sendable {
    private let taken = Mutex(0)
    private let limit: Int

    /// Makes slots of which none is taken.
    package init(_ limit: Int) { self.limit = limit }

    /// Whether there is room for one more, which then is counted.
    package func enter() -> Bool {
        self.taken.withLock { taken in
            guard taken < self.limit else { return false }
            taken += 1
            return true
        }
    }

    /// One is done.
    package func leave() { self.taken.withLock { $0 -= 1 } }
}
