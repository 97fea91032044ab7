import Synchronization
import TrackingCore

/// The queue of commands from a program to its connection to the broker. The event loop takes all of them in its next
/// pass.
final class Outbox: Sendable {
    /// Commands that were sent together, and the number of the connection for which they are meant. It is the
    /// connection of which the program had read the last event.
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

    /// Registers that the task that runs the connection was cancelled, and wakes the event loop.
    func cancel() {
        self.update { $0.isCancelled = true }
    }

    /// Sets the closure that wakes the event loop when commands are added. `nil` once the event loop no longer takes
    /// commands.
    func listen(_ wake: (@Sendable () -> Void)?) {
        self.state.withLock {
            $0.wake = wake
            $0.isAnnounced = false
        }
    }

    /// Removes and returns all commands that the program has added. The flag is `true` once the task that runs the
    /// connection was cancelled.
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
