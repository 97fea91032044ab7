import TrackingCore

/// The acknowledgements that a recorder is to publish, the latest one of each trackable.
///
/// An acknowledgement that no device waits for is published together with others after
/// ``RecorderConfiguration/acknowledgementPause``.
struct AcknowledgementQueue: Sendable {
    private var pending: [TrackableID: Acknowledgement] = [:]
    /// The time at which the pending acknowledgements are due; `nil` if none is scheduled.
    private(set) var deadline: MonotonicTime?

    /// Adds an acknowledgement in place of an earlier one.
    mutating func add(_ acknowledgement: Acknowledgement, of id: TrackableID) { self.pending[id] = acknowledgement }

    /// Adds an acknowledgement again that the broker did not answer before the connection was lost, unless a later one
    /// is pending.
    mutating func addAgain(_ acknowledgement: Acknowledgement, of id: TrackableID) {
        if self.pending[id] == nil { self.pending[id] = acknowledgement }
    }

    /// Removes the pending acknowledgement of a trackable, because a later one is published at once.
    mutating func remove(_ id: TrackableID) { self.pending[id] = nil }

    /// Schedules the pending acknowledgements, where there are any and they are not scheduled.
    mutating func schedule(now: MonotonicTime) {
        guard !self.pending.isEmpty, self.deadline == nil else { return }
        self.deadline = now.advanced(by: RecorderConfiguration.acknowledgementPause)
    }

    /// Cancels the deadline. The pending acknowledgements remain.
    mutating func cancelDeadline() { self.deadline = nil }

    /// Removes and returns the pending acknowledgements.
    mutating func takeAll() -> [TrackableID: Acknowledgement] {
        defer { self.pending = [:] }
        return self.pending
    }
}
