import TrackingCore

/// The acknowledgements that a recorder has not published yet: the latest one of each trackable.
///
/// An acknowledgement that no device waits for is delayed, and published together with others after
/// ``RecorderConfiguration/acknowledgementPause``.
struct AcknowledgementQueue: Sendable {
    private var pending: [TrackableID: Acknowledgement] = [:]
    /// The time at which all pending acknowledgements are published; `nil` if no time is set.
    private(set) var deadline: MonotonicTime?

    /// Adds the acknowledgement of a trackable. It replaces the trackable's earlier pending acknowledgement.
    mutating func add(_ acknowledgement: Acknowledgement, of id: TrackableID) { self.pending[id] = acknowledgement }

    /// Puts an acknowledgement back into the queue, because the connection was lost before the broker answered its
    /// publish. Does nothing if a later acknowledgement of the trackable is pending.
    mutating func addAgain(_ acknowledgement: Acknowledgement, of id: TrackableID) {
        if self.pending[id] == nil { self.pending[id] = acknowledgement }
    }

    /// Removes the pending acknowledgement of a trackable, because a later one is published at once.
    mutating func remove(_ id: TrackableID) { self.pending[id] = nil }

    /// Sets the deadline for the pending acknowledgements to ``RecorderConfiguration/acknowledgementPause`` from now.
    /// Does nothing if no acknowledgement is pending or a deadline is set already.
    mutating func schedule(now: MonotonicTime) {
        guard !self.pending.isEmpty, self.deadline == nil else { return }
        self.deadline = now.advanced(by: RecorderConfiguration.acknowledgementPause)
    }

    /// Removes the deadline of the pending acknowledgements. The acknowledgements remain in the queue.
    mutating func cancelDeadline() { self.deadline = nil }

    /// Removes all pending acknowledgements from the queue and returns them by trackable.
    mutating func takeAll() -> [TrackableID: Acknowledgement] {
        defer { self.pending = [:] }
        return self.pending
    }
}
