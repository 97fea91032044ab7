/// An adaptive maximum number of records in one message. It shrinks after a rejection and grows again after successes.
/// The required number of successes increases with each rejection, so that an unknown limit of the broker is found
/// without repeated failures.
package struct SendLimit: Hashable, Sendable {
    /// The upper limit.
    let maximum: Int
    /// The current limit.
    package private(set) var current: Int
    /// The number of successes before the limit grows.
    private var patience = 1
    private var successes = 0

    /// The maximum of `patience`.
    static let longestPatience = 256

    /// Makes a limit that begins at `maximum`.
    package init(maximum: Int) {
        self.maximum = maximum
        self.current = maximum
    }

    /// Records a success.
    package mutating func taken() {
        guard self.current < self.maximum else { return }
        self.successes += 1
        guard self.successes >= self.patience else { return }
        self.successes = 0
        self.current = min(self.maximum, max(1, self.current * 2))
    }

    /// Records a rejection and sets the limit to `next`.
    package mutating func refused(to next: Int) {
        self.current = next
        self.patience = min(self.patience * 4, Self.longestPatience)
        self.successes = 0
    }

    /// Resets the required number of successes, after a rejection turned out to be independent of the size.
    package mutating func acquitted() { self.patience = 1 }
}
