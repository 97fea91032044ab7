import Synchronization
import TrackingRuntime

/// Collects the events of all running sources for the one task that selects among the sources, and wakes this task for
/// each event.
final class SourceInbox<Event: Sendable>: Sendable {
    private let events = Mutex<[Event]>([])
    private let waiter: Waiter

    /// Creates an inbox. Each event that is put into it wakes the task that waits on `waiter`.
    init(_ waiter: Waiter) { self.waiter = waiter }

    /// Adds an event of a source to the inbox, and wakes the task that selects among the sources.
    func post(_ event: Event) {
        self.events.withLock { $0.append(event) }
        self.waiter.signal(.news)
    }

    /// Removes and returns all events of sources in the inbox, oldest first.
    func take() -> [Event] {
        self.events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
