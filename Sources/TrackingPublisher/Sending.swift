import TrackingCore

/// The callers' requests that wait until records are sent, and the times of the last sending and acknowledgement.
struct Sending: Sendable {
    private var requests: [SendingRequest] = []
    /// The time at which a position or a batch of records was last published, whether it was acknowledged or not.
    var lastAttempt: UnixTime?
    /// The time at which the broker last acknowledged a position or a batch of records.
    private var lastAcknowledged: UnixTime?

    /// The next time at which a caller's waiting request to send records gets a progress report or an error; `nil` if
    /// no such request waits.
    var nextDeadline: MonotonicTime? { self.requests.reduce(nil) { .earlier($0, $1.nextDeadline) } }

    /// Adds a request of a caller that waits until records are sent.
    mutating func add(_ request: SendingRequest) { self.requests.append(request) }

    /// Stores the time at which the broker acknowledged a position or a batch of records. The callers' requests for one
    /// batch then no longer wait for this trackable if it was a batch.
    ///
    /// - Parameter count: The number of records in the batch; `nil` for a position.
    mutating func acknowledged(batch count: Int?, of id: TrackableID, at wall: UnixTime) {
        self.lastAcknowledged = wall
        guard let count else { return }
        for index in self.requests.indices { self.requests[index].batchTaken(of: id, count: count) }
    }

    /// Counts these records in the callers' requests to send all records. The records became safe: the required
    /// acknowledgement has arrived.
    mutating func areSafe(_ seqs: SeqSet, of stream: StreamID) {
        for index in self.requests.indices { self.requests[index].areSafe(seqs, of: stream) }
    }

    /// Returns the answers to the callers whose requests to send records are fulfilled, the errors for those that
    /// waited too long, and the progress reports for the others.
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

    /// Returns the times of the last publish and of the last acknowledgement. Also returns, by trackable, the error
    /// with which the broker rejects the trackable or its records.
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
    /// Collects, from all tracked trackables, the state that decides about the callers' requests to send records: the
    /// unsafe records, the trackables with pending records, and the first rejection.
    init(of table: TrackableTable, isConnected: Bool) {
        self.init(isConnected: isConnected)
        for trackable in table.all {
            for stream in trackable.backlog.spool.contents { self.stored[stream.id] = stream.stored }
            if trackable.backlog.isBusy { self.busy.insert(trackable.id) }
            self.reason = self.reason ?? trackable.refusal
        }
    }
}
