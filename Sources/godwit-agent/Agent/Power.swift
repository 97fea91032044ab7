import Synchronization
import TrackingRuntime

/// The switch that turns the agent on and off. Tasks can wait until it is on or off.
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

    /// Waits until the agent is on (`isOn` is `true`) or off, or until the task is cancelled.
    func wait(untilOn isOn: Bool) async {
        let changes = self.changes.listen()
        guard self.isOn != isOn else { return }
        for await _ in changes where self.isOn == isOn { return }
    }
}
