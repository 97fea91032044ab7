private import Synchronization

/// The outcome of a program with several tasks: the first error that any of the tasks reported, or none.
public final class Ending: Sendable {
    private let first = Mutex<(any Error)?>(nil)

    /// Creates the outcome of a program in which no task has reported an error yet.
    public init() {}

    /// The first error that a task reported; `nil` if no task failed.
    public var error: (any Error)? { self.first.withLock { $0 } }

    /// Records the error with which a task ended; `nil` changes nothing. If several errors are recorded, only the first
    /// one counts.
    public func note(_ error: (any Error)?) { self.first.withLock { $0 = $0 ?? error } }
}
