import Synchronization

/// Counts the operations under way, up to a limit.
package final class Slots: Sendable {
    private let taken = Mutex(0)
    private let limit: Int

    /// Creates slots that are all free.
    package init(_ limit: Int) { self.limit = limit }

    /// Takes a slot. Returns `false` if none is free.
    package func enter() -> Bool {
        self.taken.withLock { taken in
            guard taken < self.limit else { return false }
            taken += 1
            return true
        }
    }

    /// Releases a slot.
    package func leave() { self.taken.withLock { $0 -= 1 } }
}
