import TrackingCore

/// The trackables that are watched by id and of which no message has arrived yet. Each of them is reported once.
struct SilentTrackables: Sendable {
    /// The trackables without a message.
    private(set) var ids: Set<TrackableID> = []
    private var deadlines = DeadlineQueue<TrackableID>()

    /// The time at which ``takeDue(now:)`` must be called; `nil` for never.
    var nextDeadline: MonotonicTime? { self.deadlines.next }

    /// Begins to wait for the first message of a trackable.
    mutating func watch(_ id: TrackableID) { self.ids.insert(id) }

    /// Handles that the broker granted the subscriptions of a trackable. Without a message, the trackable is reported
    /// after ``SubscriberConfiguration/silentAfter``.
    mutating func granted(_ id: TrackableID, now: MonotonicTime) {
        guard self.ids.contains(id), self.deadlines.deadline(of: id) == nil else { return }
        self.deadlines.set(id, deadline: now.advanced(by: SubscriberConfiguration.silentAfter))
    }

    /// Handles that a message on a topic arrived: the topic's trackable is not silent.
    mutating func messageArrived(on topic: Topic) {
        if !self.ids.isEmpty, let id = topic.trackable { self.ids.remove(id) }
    }

    /// Forgets a trackable that is no longer watched.
    mutating func forget(_ id: TrackableID) {
        self.ids.remove(id)
        self.deadlines.remove(id)
    }

    /// Handles that the connection was lost: the time without a message begins again with the next connection.
    mutating func disconnected() { self.deadlines = DeadlineQueue() }

    /// Returns the trackables to report now, and forgets them.
    mutating func takeDue(now: MonotonicTime) -> [TrackableID] {
        self.deadlines.popExpired(now: now).filter { self.ids.remove($0) != nil }
    }
}
