private import Synchronization

/// The error with which a program ends: the first one that any task reports.
public final class Ending: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    /// Creates an ending without an error.
    public init() {}

    /// The first error; `nil` for success.
    public var error: (any Error)? { self.first.withLock { $0 } }

    /// Records an error. Only the first one is kept.
    public func note(_ error: (any Error)?) { self.first.withLock { $0 = $0 ?? error } }
}
