import TrackingCore

/// The acknowledgements that a recorder has not published yet: the latest one of each trackable.
///
/// An acknowledgement that no device waits for is delayed by ``RecorderConfiguration/acknowledgementPause``, and
/// published together with others. Of each trackable, the recorder publishes such an acknowledgement at most once in
/// ``Acknowledgement/liveInterval``. The exception is an acknowledgement without a new number. It shows that an earlier
/// record is missing, and the device sends that record again after it.
struct AcknowledgementQueue: Sendable {
    /// A delayed acknowledgement that was published.
    private struct Published: Sendable {
        var acknowledgement: Acknowledgement
        var time: MonotonicTime
    }

    private var pending: [TrackableID: Acknowledgement] = [:]
    /// The delayed acknowledgements that were published within the last ``Acknowledgement/liveInterval``, by trackable.
    private var published: [TrackableID: Published] = [:]
    /// The time at which the acknowledgements in the queue are published, except those that wait longer; `nil` if no
    /// publish is scheduled.
    private(set) var deadline: MonotonicTime?

    /// Adds acknowledgements of records that are durable. Each replaces the trackable's earlier pending
    /// acknowledgement.
    ///
    /// - Parameters:
    ///   - acknowledgements: The acknowledgements, by trackable. Those without a reason are dropped.
    ///   - reasons: The reasons for which acknowledgements are published.
    ///   - isDelayed: `true` if acknowledgements that no device waits for are delayed. A recorder that belongs to a group
    ///     of recorders delays none.
    ///   - isAnnounced: `true` while the recorder can publish. Otherwise all acknowledgements wait.
    ///   - now: The time on the monotonic clock.
    /// - Returns: The acknowledgements to publish at once.
    mutating func add(
        _ acknowledgements: [TrackableID: Acknowledgement], for reasons: AcknowledgementReasons, isDelayed: Bool,
        isAnnounced: Bool, now: MonotonicTime
    ) -> [(id: TrackableID, acknowledgement: Acknowledgement)] {
        var urgent: [(id: TrackableID, acknowledgement: Acknowledgement)] = []
        for (id, acknowledgement) in acknowledgements {
            guard let urgency = reasons.urgency(of: id, isEmpty: acknowledgement.streams.isEmpty) else { continue }
            if isAnnounced, urgency == .immediate || !isDelayed {
                self.pending[id] = nil
                urgent.append((id, acknowledgement))
            } else {
                self.delay(acknowledgement, of: id)
            }
        }
        if isAnnounced { self.schedule(now: now) }
        return urgent
    }

    private mutating func delay(_ acknowledgement: Acknowledgement, of id: TrackableID) {
        let before = self.pending[id] ?? self.published[id]?.acknowledgement
        if before == acknowledgement { self.published[id] = nil }
        self.pending[id] = acknowledgement
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

    /// Removes those pending acknowledgements from the queue that may be published at ``deadline``, and returns them by
    /// trackable. The others remain: their trackables got an acknowledgement within the last
    /// ``Acknowledgement/liveInterval``. Sets the next deadline for them.
    mutating func takeDue(now: MonotonicTime) -> [TrackableID: Acknowledgement] {
        self.deadline = nil
        self.published = self.published.filter { now < $0.value.time.advanced(by: Acknowledgement.liveInterval) }
        let due = self.pending.filter { self.published[$0.key] == nil }
        for (id, acknowledgement) in due {
            self.pending[id] = nil
            self.published[id] = Published(acknowledgement: acknowledgement, time: now)
        }
        self.schedule(now: now)
        return due
    }

    /// Removes all pending acknowledgements from the queue and returns them by trackable.
    mutating func takeAll() -> [TrackableID: Acknowledgement] {
        defer { self.pending = [:] }
        return self.pending
    }
}
