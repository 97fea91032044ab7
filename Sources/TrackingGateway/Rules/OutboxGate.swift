import Synchronization

/// Before what was kept over a restart is told, the broker is heard, and the history asked, of what was erased meanwhile.
package final class OutboxGate: Sendable {
    private let state = Mutex(false)

    package init() {}

    /// Whether what is kept may be told.
    package var isOpen: Bool { self.state.withLock { $0 } }

    /// It may be told.
    package func open() { self.state.withLock { $0 = true } }

    /// Returns once it is open, or the task is cancelled.
    package func opened() async {
        while !self.isOpen, (try? await Task.sleep(for: .milliseconds(50))) != nil {}
    }
}
