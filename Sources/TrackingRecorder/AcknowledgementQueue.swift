import TrackingCore

/// The acknowledgements that a recorder has not published yet: the latest one of each trackable.
///
/// An acknowledgement that no device waits for is delayed, and published together with others after
/// ``RecorderConfiguration/acknowledgementPause``.
struct AcknowledgementQueue: Sendable {
    private var pending: [TrackableID: Acknowledgement] = [:]
    /// The time at which all acknowledgements in the queue are published; `nil` if no publish is scheduled.
    private(set) var deadline: MonotonicTime?

    /// Adds acknowledgements of records that are durable. Each replaces the trackable's earlier pending
    /// acknowledgement.
    ///
    /// - Parameters:
    ///   - acknowledgements: The acknowledgements, by trackable. An empty one that no device waits for is dropped.
    ///   - awaited: The trackables whose devices wait for an acknowledgement. It is published at once.
    ///   - isDelayed: `true` if the other acknowledgements wait, so that several are published together. A recorder
    ///     that belongs to a group of recorders delays none.
    ///   - isAnnounced: `true` while the recorder can publish. Otherwise all acknowledgements wait.
    /// - Returns: The acknowledgements to publish at once.
    mutating func add(
        _ acknowledgements: [TrackableID: Acknowledgement], awaited: Set<TrackableID>, isDelayed: Bool,
        isAnnounced: Bool, now: MonotonicTime
    ) -> [(id: TrackableID, acknowledgement: Acknowledgement)] {
        var urgent: [(id: TrackableID, acknowledgement: Acknowledgement)] = []
        for (id, acknowledgement) in acknowledgements where awaited.contains(id) || !acknowledgement.streams.isEmpty {
            let isUrgent = isAnnounced && (awaited.contains(id) || !isDelayed)
            self.pending[id] = isUrgent ? nil : acknowledgement
            if isUrgent { urgent.append((id, acknowledgement)) }
        }
        if isAnnounced { self.schedule(now: now) }
        return urgent
    }

    /// Puts an acknowledgement that was published back into the queue, because the connection was lost before the
    /// broker answered. Does nothing if the queue has a later acknowledgement of the trackable.
    mutating func addAgain(_ acknowledgement: Acknowledgement, of id: TrackableID) {
        if self.pending[id] == nil { self.pending[id] = acknowledgement }
    }

    /// Sets the deadline for the pending acknowledgements, unless none is pending or a deadline is set already.
    private mutating func schedule(now: MonotonicTime) {
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
