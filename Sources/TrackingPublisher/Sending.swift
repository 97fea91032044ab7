import TrackingCore

/// The callers that wait until records are sent, and the times of sending.
struct Sending: Sendable {
    private var requests: [SendingRequest] = []
    /// The time at which an update or a batch was last published.
    var lastAttempt: UnixTime?
    /// The time at which one was last acknowledged.
    private var lastAcknowledged: UnixTime?

    /// The moment of the next report or failure; `nil` where no caller waits.
    var nextDeadline: MonotonicTime? { self.requests.reduce(nil) { .earlier($0, $1.nextDeadline) } }

    /// A caller waits from now on.
    mutating func add(_ request: SendingRequest) { self.requests.append(request) }

    /// The broker acknowledged an update, or a batch of this number of records.
    mutating func acknowledged(batch count: Int?, of id: TrackableID, at wall: UnixTime) {
        self.lastAcknowledged = wall
        guard let count else { return }
        for index in self.requests.indices { self.requests[index].batchTaken(of: id, count: count) }
    }

    /// Records became safe.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) {
        for index in self.requests.indices { self.requests[index].areSafe(seqs, of: stream) }
    }

    /// Answers the callers whose records are sent, and those that waited for too long.
    ///
    /// - Parameter isConnected: `true` while the publisher is announced on a connection.
    mutating func answers(
        _ table: TrackableTable, isConnected: Bool, now: MonotonicTime
    ) -> [PublisherStateMachine.Action] {
        guard !self.requests.isEmpty else { return [] }
        let view = SendingRequest.View(of: table, isConnected: isConnected)
        var actions: [PublisherStateMachine.Action] = []
        self.requests = self.requests.compactMap { waiting in
            var sender = waiting
            switch sender.looked(at: view, now: now) {
            case .waits: break
            case .progressed:
                actions.append(.progressed(request: sender.number, done: sender.done, total: sender.total))
            case .ended(let result):
                actions.append(.answered(request: sender.number, result.map { .records($0) }))
                return nil
            }
            return sender
        }
        return actions
    }

    /// Returns the figures of sending, with the reasons for which the broker rejects trackables or their records.
    func figures(of table: TrackableTable) -> SendingFigures {
        let refusals = table.all.compactMap { trackable -> (TrackableID, TrackingError)? in
            let refusal = trackable.status.rejection?.error ?? trackable.backlog.spool.refusal
            return refusal.map { (trackable.id, $0) }
        }
        return SendingFigures(
            lastAttempt: self.lastAttempt, lastAcknowledged: self.lastAcknowledged,
            refusals: Dictionary(refusals) { first, _ in first })
    }
}

extension SendingRequest.View {
    /// The state of the tracked trackables.
    init(of table: TrackableTable, isConnected: Bool) {
        self.init(isConnected: isConnected)
        for trackable in table.all {
            for stream in trackable.backlog.spool.contents { self.stored[stream.id] = stream.stored }
            if trackable.backlog.isBusy { self.busy.insert(trackable.id) }
            self.reason = self.reason ?? trackable.refusal
        }
    }
}
