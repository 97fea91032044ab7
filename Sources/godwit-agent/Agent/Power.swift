import Synchronization
import TrackingRuntime

/// The on/off switch of the agent. While it is off, the agent reads and sends no positions. Tasks can wait until it is
/// switched.
final class Power: Sendable {
    private let state: Mutex<Bool>
    private let changes = Broadcast<Void>(buffer: 1)

    init(isOn: Bool) { self.state = Mutex(isOn) }

    /// `true` while the agent is on. Setting this property wakes the tasks that wait for it.
    var isOn: Bool {
        get { self.state.withLock { $0 } }
        set {
            self.state.withLock { $0 = newValue }
            self.changes.deliver(())
        }
    }

    /// Waits until the agent is on (if `isOn` is `true`) or off (if `isOn` is `false`), or until the task is cancelled.
    func wait(untilOn isOn: Bool) async {
        let changes = self.changes.listen()
        guard self.isOn != isOn else { return }
        for await _ in changes where self.isOn == isOn { return }
    }
}
