private import Synchronization

/// The first reason to end with something other than success.
public final class Ending: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    /// Makes one without a reason.
    public init() {}

    /// Why; `nil` when all is well.
    public var error: (any Error)? { self.first.withLock { $0 } }

    /// Keeps the first error it is told.
    public func note(_ error: (any Error)?) { self.first.withLock { $0 = $0 ?? error } }
}
