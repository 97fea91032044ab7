import Synchronization
import TrackingCore
import TrackingRuntime

/// Stores the resolution that a source of fixes should have. ``LocationSource/use(_:)`` sets it, and the source's
/// current run, or a later one, reads it.
final class ResolutionBox: Sendable {
    private struct State {
        var resolution: Resolution?
        var waiter: Waiter?
    }

    private let state = Mutex(State())

    /// The resolution that is wanted now; `nil` until ``set(_:)`` is called.
    var current: Resolution? { self.state.withLock { $0.resolution } }

    /// Stores the resolution that the source should have from now on. Wakes the task of the source's current run, if
    /// there is one.
    func set(_ resolution: Resolution) {
        let waiter = self.state.withLock { state in
            state.resolution = resolution
            return state.waiter
        }
        waiter?.signal(.news)
    }

    /// Performs a run of the source. ``set(_:)`` wakes the waiter that `body` gets. The error `stopped`, which ends a
    /// cancelled wait, is an orderly end.
    func run(_ body: (Waiter) async throws(TrackingError) -> Void) async throws(TrackingError) {
        let waiter = Waiter()
        self.wakes(waiter)
        defer { self.wakes(nil) }
        do throws(TrackingError) { try await body(waiter) } catch {
            if error.code != .stopped { throw error }
        }
    }

    /// Sets the waiter of the source's present run, which ``set(_:)`` wakes; `nil` when the source does not run.
    func wakes(_ waiter: Waiter?) { self.state.withLock { $0.waiter = waiter } }
}
