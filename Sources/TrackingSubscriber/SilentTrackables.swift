import TrackingCore

/// The trackables that are watched by id and of which no message has arrived yet. Each of them is reported to the
/// program once, ``SubscriberConfiguration/silentAfter`` after the broker granted its subscriptions.
struct SilentTrackables: Sendable {
    /// The trackables that are watched by id, of which no message has arrived, and that were not reported as silent
    /// yet.
    private(set) var ids: Set<TrackableID> = []
    private var deadlines = DeadlineQueue<TrackableID>()

    /// The time at which the next trackable may have to be reported as silent, so that ``takeDue(now:)`` must be
    /// called; `nil` for never.
    var nextDeadline: MonotonicTime? { self.deadlines.next }

    /// Adds a trackable of which no message has arrived. The time after which it is reported as silent begins when the
    /// broker grants its subscriptions.
    mutating func watch(_ id: TrackableID) { self.ids.insert(id) }

    /// Handles that the broker granted the subscriptions of a trackable. If no message about the trackable arrives
    /// within ``SubscriberConfiguration/silentAfter``, the trackable is reported as silent.
    mutating func granted(_ id: TrackableID, now: MonotonicTime) {
        guard self.ids.contains(id), self.deadlines.deadline(of: id) == nil else { return }
        self.deadlines.set(id, deadline: now.advanced(by: SubscriberConfiguration.silentAfter))
    }

    /// Handles that a message arrived on a topic: the topic's trackable will not be reported as silent.
    mutating func messageArrived(on topic: Topic) {
        if !self.ids.isEmpty, let id = topic.trackable { self.ids.remove(id) }
    }

    /// Forgets a trackable that the program no longer watches, so that it is not reported as silent.
    mutating func forget(_ id: TrackableID) {
        self.ids.remove(id)
        self.deadlines.remove(id)
    }

    /// Handles that the connection was lost. The times after which trackables are reported as silent stop, and begin
    /// again when the broker grants the subscriptions on the next connection.
    mutating func disconnected() { self.deadlines = DeadlineQueue() }

    /// Returns the trackables that must now be reported as silent, because their time without a message is over, and
    /// forgets them. No trackable is returned twice.
    mutating func takeDue(now: MonotonicTime) -> [TrackableID] {
        self.deadlines.popExpired(now: now).filter { self.ids.remove($0) != nil }
    }
}
