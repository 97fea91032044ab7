import Synchronization
import TrackingCore
import TrackingRuntime

/// Where ``LocationSource/use(_:)`` leaves the resolution, for a run that looks for it now or later.
final class ResolutionBox: Sendable {
    private struct State {
        var resolution: Resolution?
        var waiter: Waiter?
    }

    private let state = Mutex(State())

    /// The resolution that is wanted now; `nil` until somebody said so.
    var current: Resolution? { self.state.withLock { $0.resolution } }

    /// Leaves a new resolution and wakes the run.
    func set(_ resolution: Resolution) {
        let waiter = self.state.withLock { state in
            state.resolution = resolution
            return state.waiter
        }
        waiter?.signal(.news)
    }

    /// Makes `waiter` the one that is woken by news.
    func wakes(_ waiter: Waiter?) { self.state.withLock { $0.waiter = waiter } }
}
