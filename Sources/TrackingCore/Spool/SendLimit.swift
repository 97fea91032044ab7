/// An adaptive maximum number of records in one message. The maximum shrinks after the broker rejects a message, and
/// grows again after accepted messages. The required number of accepted messages increases with each rejection, so that
/// an unknown size limit of the broker is found without repeated failures.
package struct SendLimit: Hashable, Sendable {
    /// The number of records above which ``current`` never grows.
    let maximum: Int
    /// The maximum number of records in the next message.
    package private(set) var current: Int
    /// The number of accepted messages before the limit grows.
    private var patience = 1
    private var successes = 0

    /// The maximum of `patience`.
    static let longestPatience = 256

    /// Makes a limit that begins at `maximum` records.
    package init(maximum: Int) {
        self.maximum = maximum
        self.current = maximum
    }

    /// Counts a message that the broker accepted. The limit grows after enough of them.
    package mutating func taken() {
        guard self.current < self.maximum else { return }
        self.successes += 1
        guard self.successes >= self.patience else { return }
        self.successes = 0
        self.current = min(self.maximum, max(1, self.current * 2))
    }

    /// Handles that the broker rejected a message: sets the limit to `next` records, and requires more accepted
    /// messages before it grows.
    package mutating func refused(to next: Int) {
        self.current = next
        self.patience = min(self.patience * 4, Self.longestPatience)
        self.successes = 0
    }

    /// Resets the required number of accepted messages, because the broker's rejection turned out to be independent of
    /// the size of the message.
    package mutating func acquitted() { self.patience = 1 }
}
