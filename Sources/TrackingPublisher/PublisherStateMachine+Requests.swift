import TrackingCore

/// What the caller asks of the log: to send, to empty it, to carry something else.
extension PublisherStateMachine {
    mutating func asked(_ request: LogRequest, _ number: UInt64, at moment: Moment) -> [Action] {
        switch request {
        case .sendNow:
            let actions = self.tryNow() + self.sendRecords(all: false, at: moment)
            let busy = self.assets.values.filter { $0.spool.isUnderWay || $0.spool.unsent > 0 }.map(\.trackable.id)
            self.senders.append(SendingRequest(number, batchOf: Set(busy), at: moment.now))
            return actions
        case .flush:
            let waiting = self.assets.values.flatMap { $0.spool.contents }
            self.senders.append(SendingRequest(number, everythingOf: waiting, at: moment.now))
            return self.tryNow() + self.sendRecords(all: true, at: moment)
        case .purge:
            return self.purge(number, at: moment)
        case .putBack(let rows, let id):
            return self.putBack(rows, of: id, number)
        case .bind(let trackable, let unsent):
            return self.bind(trackable, unsent: unsent, number, at: moment)
        case .sending:
            return [.answered(request: number, .success(.sending(self.sendingFigures)))]
        }
    }

    private var sendingFigures: SendingFigures {
        SendingFigures(
            lastAttempt: self.lastAttempt, lastAcknowledged: self.lastAcknowledged,
            refusals: self.assets.all.compactMapValues { $0.refusal?.error ?? $0.spool.refusal })
    }

    /// Everything that is in the log, also of what is not carried.
    private mutating func purge(_ number: UInt64, at moment: Moment) -> [Action] {
        let carried = self.assets.values.reduce(0) { $0 + $1.spool.queued }
        let others = self.logs.values.flatMap(\.streams).reduce(0) { $0 + $1.stored.count }
        var actions = self.assets.keys.flatMap { self.clearRecords(of: $0, at: moment) }
        for (id, log) in self.logs {
            actions += log.streams.filter { !$0.stored.isEmpty }.map { .log(id, .remove($0.id, $0.stored)) }
            for stream in log.streams { self.logs[id]?.change(stream.id) { $0.stored = SeqSet() } }
        }
        return actions + [.answered(request: number, .success(.records(carried + others)))]
    }

    /// What was carried is let go in the same step in which nothing of it waits.
    private mutating func bind(
        _ trackable: Trackable, unsent: UnsentPoints, _ number: UInt64, at moment: Moment
    ) -> [Action] {
        let others = self.assets.values.filter { $0.trackable.id != trackable.id }
        let waiting = others.filter { $0.unsafeCount > 0 }
        guard unsent == .clear || waiting.isEmpty else {
            let count = waiting.reduce(0) { $0 + $1.unsafeCount }
            let names = waiting.map { "'\($0.trackable.id)'" }.sorted().joined(separator: ", ")
            let error = TrackingError(
                .unsentPoints, "\(count) records of \(names) are not sent; send or clear them first")
            return [.answered(request: number, .failure(error))]
        }
        var actions: [Action] = []
        for id in others.map(\.trackable.id) {
            actions += self.clearRecords(of: id, at: moment) + self.remove(id, at: moment)
        }
        let isCarried = self.assets[trackable.id] != nil
        actions += isCarried ? self.change(trackable, at: moment) : self.add(trackable, at: moment)
        return actions + [.answered(request: number, .success(.bound))]
    }

    /// The broker takes the batch that is on its way.
    mutating func batchTaken(of id: TrackableID, at moment: Moment) {
        self.lastAcknowledged = moment.wall
        guard let count = self.assets[id]?.spool.inFlight else { return }
        for index in self.senders.indices { self.senders[index].batchTaken(of: id, count: count) }
    }

    /// Answers those who wait for what is sent by now, and those for whom it takes too long.
    mutating func answerSenders(at moment: Moment) -> [Action] {
        guard !self.senders.isEmpty else { return [] }
        let sight = self.sight
        var actions: [Action] = []
        self.senders = self.senders.compactMap { waiting in
            var sender = waiting
            switch sender.looked(at: sight, now: moment.now) {
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

    private var sight: SendingRequest.Sight {
        var sight = SendingRequest.Sight(isConnected: self.session.isAnnounced)
        for (id, asset) in self.assets.all {
            for stream in asset.spool.contents { sight.stored[stream.id] = stream.stored }
            if asset.spool.isUnderWay || asset.spool.unsent > 0 { sight.busy.insert(id) }
            sight.reason = sight.reason ?? asset.failure ?? asset.refusal?.error ?? asset.spool.refusal
        }
        return sight
    }
}

extension TrackedAsset {
    /// How many records are not safe, those that are being written included.
    fileprivate var unsafeCount: Int { self.spool.queued + (self.isWritten ? 0 : 1) }
}
