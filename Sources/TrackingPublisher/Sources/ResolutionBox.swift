import Synchronization
import TrackingCore
import TrackingRuntime

/// Stores the resolution that ``LocationSource/use(_:)`` sets for one source, for the source's current run or a later
/// one.
final class ResolutionBox: Sendable {
    private struct State {
        var resolution: Resolution?
        var waiter: Waiter?
    }

    private let state = Mutex(State())

    /// The resolution that is wanted now; `nil` until ``set(_:)`` is called.
    var current: Resolution? { self.state.withLock { $0.resolution } }

    /// Stores the resolution that the source should have from now on, and wakes the task that reads the receiver.
    func set(_ resolution: Resolution) {
        let waiter = self.state.withLock { state in
            state.resolution = resolution
            return state.waiter
        }
        waiter?.signal(.news)
    }

    /// Sets the waiter of the source's present run, which ``set(_:)`` wakes; `nil` when the source does not run.
    func wakes(_ waiter: Waiter?) { self.state.withLock { $0.waiter = waiter } }
}
