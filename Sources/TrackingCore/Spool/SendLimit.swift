/// How much goes together: less when it is refused, and more again after ever longer runs of success, so that a limit of the
/// broker's is found, and not run into again and again.
package struct SendLimit: Hashable, Sendable {
    /// The most that ever go together.
    let maximum: Int
    /// The most that go together now.
    package private(set) var current: Int
    /// After so many successes more is tried.
    private var patience = 1
    private var successes = 0

    /// The longest run of successes before more is tried.
    static let longestPatience = 256

    /// Begins with the most.
    package init(maximum: Int) {
        self.maximum = maximum
        self.current = maximum
    }

    /// What went together was taken.
    package mutating func taken() {
        guard self.current < self.maximum else { return }
        self.successes += 1
        guard self.successes >= self.patience else { return }
        self.successes = 0
        self.current = min(self.maximum, max(1, self.current * 2))
    }

    /// What went together was refused; no more than `next` go together now.
    package mutating func refused(to next: Int) {
        self.current = next
        self.patience = min(self.patience * 4, Self.longestPatience)
        self.successes = 0
    }

    /// The size was not to blame.
    package mutating func acquitted() { self.patience = 1 }
}
