import Synchronization
import TrackingRuntime

/// Whether the agent is on, for those who have to wait for it.
final class Power: Sendable {
    private let state: Mutex<Bool>
    private let changes = Broadcast<Void>(buffer: 1)

    init(isOn: Bool) { self.state = Mutex(isOn) }

    /// Whether it is on; setting it wakes who waits.
    var isOn: Bool {
        get { self.state.withLock { $0 } }
        set {
            self.state.withLock { $0 = newValue }
            self.changes.tell(())
        }
    }

    /// Returns once it is on, or off, or the task is cancelled.
    func wait(untilOn isOn: Bool) async {
        let changes = self.changes.listen()
        guard self.isOn != isOn else { return }
        for await _ in changes where self.isOn == isOn { return }
    }
}
