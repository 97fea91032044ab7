/// A maximum number of records in one message that adapts to the broker. It shrinks when the broker rejects a message,
/// and doubles again after accepted messages.
///
/// After each rejection for which the size may be the cause, more accepted messages are needed before it grows. A size
/// limit of the broker is therefore found without failing again and again.
package struct SendLimit: Hashable, Sendable {
    /// The maximum of ``current``, the number of records that a message may contain.
    let maximum: Int
    /// The maximum number of records that the next message may contain, at most ``maximum``.
    package private(set) var current: Int
    /// The number of messages that the broker must accept, since the last rejection or growth, before ``current``
    /// grows.
    private var patience = 1
    private var successes = 0

    /// The highest number of messages that the broker must accept before the limit doubles: 256. Each rejection raises
    /// the required number, up to this one.
    static let longestPatience = 256

    /// Makes a limit whose first value is `maximum` records.
    package init(maximum: Int) {
        self.maximum = maximum
        self.current = maximum
    }

    /// Registers that the broker accepted a message. After enough accepted messages, the limit doubles, up to
    /// ``maximum``.
    package mutating func taken() {
        guard self.current < self.maximum else { return }
        self.successes += 1
        guard self.successes >= self.patience else { return }
        self.successes = 0
        self.current = min(self.maximum, max(1, self.current * 2))
    }

    /// Registers that the broker rejected a message. The limit becomes `next` records. Four times as many accepted
    /// messages as before, at most ``longestPatience``, are needed before it grows.
    package mutating func refused(to next: Int) {
        self.current = next
        self.patience = min(self.patience * 4, Self.longestPatience)
        self.successes = 0
    }

    /// Registers that the last rejection was not caused by the size of the rejected message. Until the next rejection,
    /// each accepted message is enough for the limit to grow.
    package mutating func acquitted() { self.patience = 1 }
}
