import Synchronization
import TrackingCore

/// Commands on their way from the role to the loop, which takes them all at once in its next pass.
final class Outbox: Sendable {
    /// Commands that were given together, and the connection that the role knew of when it gave them.
    struct Entry {
        let commands: [TransportCommand]
        let connection: Int
    }

    private struct State {
        var entries: [Entry] = []
        var isCancelled = false
        var isAnnounced = false
        var wake: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func append(_ entry: Entry) {
        self.update { $0.entries.append(entry) }
    }

    /// The task that runs the connection was cancelled.
    func cancel() {
        self.update { $0.isCancelled = true }
    }

    /// Says how the loop is woken, from now on; `nil` when it no longer listens.
    func listen(_ wake: (@Sendable () -> Void)?) {
        self.state.withLock {
            $0.wake = wake
            $0.isAnnounced = false
        }
    }

    /// Takes everything that was given.
    func take() -> (entries: [Entry], isCancelled: Bool) {
        self.state.withLock { state in
            state.isAnnounced = false
            guard !state.entries.isEmpty else { return ([], state.isCancelled) }
            let entries = state.entries
            state.entries = []
            return (entries, state.isCancelled)
        }
    }

    private func update(_ body: (inout State) -> Void) {
        let wake = self.state.withLock { state -> (@Sendable () -> Void)? in
            body(&state)
            guard !state.isAnnounced, let wake = state.wake else { return nil }
            state.isAnnounced = true
            return wake
        }
        wake?()
    }
}
