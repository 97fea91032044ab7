import Synchronization
import TrackingCore

/// Stores the time until which a source's receiver sleeps. The run of the source sets it, and the status of the device
/// reads it.
final class ReceiverSleep: Sendable {
    private let time = Mutex<MonotonicTime?>(nil)

    /// The time until which the receiver sleeps; `nil` while it is awake, or the source does not run.
    var until: MonotonicTime? { self.time.withLock { $0 } }

    /// Stores the time until which the receiver sleeps; `nil` if it is awake.
    func set(until time: MonotonicTime?) { self.time.withLock { $0 = time } }
}
