import Synchronization

/// Holds back all deliveries from the outbox, the gateway's message queue, after a start of the gateway. Some
/// trackables may have been erased while the gateway was not running. The gate is opened once the messages about them
/// are removed from the outbox.
package final class OutboxGate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextKey = 0
    }

    private let state = Mutex(State())

    /// Creates a closed gate: nothing is delivered from the outbox.
    package init() {}

    /// `true` once the delivery from the outbox may begin.
    package var isOpen: Bool { self.state.withLock { $0.isOpen } }

    /// Opens the gate permanently, and resumes the tasks that wait for it.
    package func open() {
        let waiters = self.state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until the gate is open or the task is cancelled.
    package func opened() async {
        let key = self.state.withLock { state in
            state.nextKey += 1
            return state.nextKey
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = self.state.withLock { state in
                    guard !state.isOpen, !Task.isCancelled else { return true }
                    state.waiters[key] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiters.removeValue(forKey: key) }?.resume()
        }
    }
}
