import Synchronization
import TrackingRuntime

/// Collects events for one task and wakes it.
final class SourceInbox<Event: Sendable>: Sendable {
    private let events = Mutex<[Event]>([])
    private let waiter: Waiter

    /// Makes an inbox that wakes the task behind `waiter`.
    init(_ waiter: Waiter) { self.waiter = waiter }

    /// Leaves an event.
    func post(_ event: Event) {
        self.events.withLock { $0.append(event) }
        self.waiter.signal(.news)
    }

    /// Takes what is there, oldest first.
    func take() -> [Event] {
        self.events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
