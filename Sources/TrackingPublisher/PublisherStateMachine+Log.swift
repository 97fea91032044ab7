import TrackingCore

/// What the log tells, and what of it goes out on the recording lane.
extension PublisherStateMachine {
    mutating func happened(_ event: LogEvent, to id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id] != nil else { return self.happenedToOther(event, id) }
        switch event {
        case .appended(let stream, let seqs):
            return self.appended(seqs, of: stream, to: id, at: moment)
        case .appendFailed(let stream, let seqs, let error):
            // What the log could not take is declared gone. The live lane goes on with a device's own; what came from outside was
            // not told yet, and comes again under another name.
            guard self.written(stream, seqs, of: id) else { return [.logFailed(id, error)] }
            self.assets[id]?.spool.appendFailed(seqs)
            return [.logFailed(id, error)] + self.intakeFailed(error, of: id)
        case .loaded(let records, let missing, let query):
            return self.askSpool(of: id, at: moment) {
                $0.loaded(records, missing: missing, by: query, now: moment.now)
            }
        case .readFailed(let query):
            return self.askSpool(of: id, at: moment) { $0.readFailed(query, now: moment.now) }
        case .found(let known):
            return self.found(known, of: id, at: moment)
        case .findFailed(let error):
            return self.intakeFailed(error, of: id)
        case .reopened(let held):
            let error = TrackingError(
                .spoolDamaged, "the log was damaged while the records were written; send them again")
            return self.reopened(held, of: id, at: moment) + self.intakeFailed(error, of: id)
        case .dropped(let stream, let seqs):
            return self.askSpool(of: id, at: moment) { $0.dropped(seqs, of: stream, now: moment.now) }
        case .setAside(let stream, let seq):
            // Who brought it can do nothing about it: it is kept for a human.
            return self.askSpool(of: id, at: moment) { $0.setAside(seq, of: stream, now: moment.now) }
                + self.intakeSafe(SeqSet([seq...seq]), of: stream, id)
        case .setAsideFailed(let stream, let seq):
            return self.askSpool(of: id, at: moment) { $0.setAsideFailed(seq, of: stream, now: moment.now) }
        case .putBack(let stream, let seqs, let request):
            return self.putBack(seqs, in: stream, of: id, at: moment)
                + [.answered(request: request, .success(.records(seqs.count)))]
        case .putBackFailed(let stream, let seqs, let error, let request):
            if self.written(stream, seqs, of: id) { self.assets[id]?.spool.appendFailed(seqs) }
            return [.answered(request: request, .failure(error))]
        }
    }

    /// A new stream begins; what is left of the others drains under their names.
    private mutating func reopened(
        _ held: SpoolContents.Trackable, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        let stream = held.current ?? .random(using: &self.random)
        let spool = SpoolStateMachine(
            configuration: self.configuration.recording, streams: held.streams, current: stream,
            seed: self.random.next(), now: moment.now)
        self.assets[id]?.spool = spool
        self.forgetAnswers { $0 == .history(id) }
        return self.begin(stream, of: id, after: held.streams.first { $0.id == stream }?.last ?? 0, at: moment)
    }

    /// Another stream is written from now on; presence names it.
    private mutating func begin(
        _ stream: StreamID, of id: TrackableID, after last: UInt64, at moment: Moment
    ) -> [Action] {
        self.assets[id]?.beginStream(stream, after: last)
        self.forgetAnswers { $0 == .update(id) }
        guard self.session.isAnnounced, self.assets[id]?.isSending == true else { return [] }
        return self.announce(id, at: moment)
    }

    /// These get the next numbers of the stream that is written.
    private mutating func renumber(_ seqs: SeqSet, of stream: StreamID, _ id: TrackableID) -> [Action] {
        guard let first = self.assets[id]?.nextName else { return [] }
        for _ in 0..<seqs.count { _ = self.assets[id]?.nextSeq() }
        return [.log(id, .renumber(stream, seqs, from: first))]
    }

    /// These are in the log. What was on its way to the disk while the log was opened anew goes out under the name that it was given.
    mutating func appended(
        _ seqs: SeqSet, of stream: StreamID, to id: TrackableID, at moment: Moment
    ) -> [Action] {
        if self.written(stream, seqs, of: id), self.assets[id]?.fed != nil {
            return self.intakeWritten(seqs, of: id, at: moment)
        }
        return self.askSpool(of: id, at: moment) { $0.appended(seqs, of: stream, now: moment.now) }
    }

    /// These may be sent now.
    ///
    /// - Returns: Whether they are of the current stream.
    private mutating func written(_ stream: StreamID, _ seqs: SeqSet, of id: TrackableID) -> Bool {
        guard stream == self.assets[id]?.stream, let last = seqs.last else { return false }
        self.assets[id]?.wrote(through: last)
        return true
    }

    /// A trackable that is not carried: what its log holds is remembered for when it is carried.
    private mutating func happenedToOther(_ event: LogEvent, _ id: TrackableID) -> [Action] {
        switch event {
        case .appended(let stream, let seqs):
            self.logs[id, default: .init()].appended(seqs, to: stream)
            self.departureWritten(seqs, of: id)
        case .appendFailed(let stream, let seqs, _):
            self.departureWritten(seqs, of: id)
            self.logs[id]?.change(stream) { $0.last = max($0.last, seqs.last ?? 0) }
        case .putBack(let stream, let seqs, let request):
            self.logs[id, default: .init()].appended(seqs, to: stream)
            return [.answered(request: request, .success(.records(seqs.count)))]
        case .putBackFailed(_, _, let error, let request):
            return [.answered(request: request, .failure(error))]
        case .dropped(let stream, let seqs):
            self.logs[id]?.change(stream) { $0.stored.subtract(seqs) }
        case .setAside(let stream, let seq):
            self.logs[id]?.change(stream) { $0.stored.remove(seq...seq) }
        case .reopened(let held):
            self.logs[id] = held
            self.departures[id]?.isWritten = true
        case .loaded, .readFailed, .found, .findFailed, .setAsideFailed:
            break
        }
        return []
    }

    /// Writes a record to the log; it is sent once it is there.
    mutating func append(_ record: SpoolRecord, of id: TrackableID) -> [Action] {
        self.assets[id].map { [.log(id, .append($0.stream, record))] } ?? []
    }

    /// Tells the log's decider something, and does what it answers.
    mutating func askSpool(
        of id: TrackableID, at moment: Moment, _ question: (inout SpoolStateMachine) -> [SpoolStateMachine.Action]
    ) -> [Action] {
        // Asked in place: a copy of the asset would copy everyone's requests.
        let batchesAhead = max(1, Self.batchesAhead / max(1, self.assets.count))
        let answers = self.assets[id]?.ask(batchesAhead: batchesAhead, question) ?? []
        return answers.flatMap { self.perform($0, of: id, at: moment) }
    }

    /// How many batches of all trackables together are read before they go, where there are so few.
    private static let batchesAhead = 16

    private mutating func perform(
        _ action: SpoolStateMachine.Action, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        switch action {
        case .read(let query):
            return [.log(id, .read(query))]
        case .publish(let batch):
            self.lastAttempt = moment.wall
            return [self.publish(.history(id), HistoryCodec.encode(batch), .history(id))]
        case .remove(let stream, let seqs):
            if stream == self.assets[id]?.stream { self.assets[id]?.lane.forget(seqs) }
            for index in self.senders.indices { self.senders[index].areSafe(seqs, of: stream) }
            return [.log(id, .remove(stream, seqs))] + self.intakeSafe(seqs, of: stream, id)
        case .taken(let stream, let seqs):
            return self.intakeSafe(seqs, of: stream, id)
        case .quarantine(let stream, let seq, let reason):
            return [.log(id, .quarantine(stream, seq, reason))]
        case .begin(let stream, let old):
            return [.numbersReused(id, old)] + self.begin(stream, of: id, after: 0, at: moment)
        case .renumber(let stream, let seqs):
            return self.renumber(seqs, of: stream, id)
        case .forget(let stream):
            return [.log(id, .forget(stream))]
        case .tellDropped(let count):
            return self.tell(.dropped, ["count": .number(Double(count))], of: id, at: moment)
        case .tellRefused(let refusal):
            return [.recordsRefused(id, refusal)]
        }
    }

    /// The recording lane opens behind the live one, and closes with it.
    mutating func openRecords(of id: TrackableID, at moment: Moment) -> [Action] {
        guard
            let isOpen = self.assets[id]?.isOpenForRecords(
                isAnnounced: self.session.isAnnounced && self.configuration.isOn,
                isAlive: self.session.isLivenessConfirmed),
            isOpen != self.assets[id]?.spool.isOpen
        else { return [] }
        if isOpen { return self.askSpool(of: id, at: moment) { $0.opened(now: moment.now) } }
        self.forgetAnswers { $0 == .history(id) }
        return self.askSpool(of: id, at: moment) { $0.closed(isOrderly: true, now: moment.now) }
    }

    /// What comes of these counts for nothing any more: it would be taken for the answer to what is sent next.
    mutating func forgetAnswers(_ isForgotten: (Purpose) -> Bool) {
        self.outstanding = self.outstanding.filter { !isForgotten($0.value) }
    }

    /// What was on its way on the live lane is not known to have arrived.
    ///
    /// - Parameter isOrderly: Whether the connection goes on: it did not end because of the batch on its way.
    mutating func closeRecords(of id: TrackableID, isOrderly: Bool = false, at moment: Moment) -> [Action] {
        var lost = self.assets[id]?.lane.seqsInFlight ?? SeqSet()
        lost.formUnion(self.assets[id]?.takenEarly ?? SeqSet())
        self.assets[id]?.takenEarly = SeqSet()
        if self.assets[id]?.spool.isUnderWay == true { self.forgetAnswers { $0 == .history(id) } }
        return self.askSpool(of: id, at: moment) {
            $0.closed(isOrderly: isOrderly, now: moment.now) + $0.failedLive(lost, now: moment.now)
        }
    }

    /// Whether the live lane may be all that brings a record. Recorders take their time to acknowledge what comes there, and those
    /// who brought a record from outside wait for them.
    func countsLive(_ id: TrackableID) -> Bool {
        self.assets[id]?.fed == nil || !self.configuration.recording.needsRecorder
    }

    /// The broker took an update: what it carried is safe once the own presence came back on this connection.
    mutating func updateTaken(of id: TrackableID, at moment: Moment) -> [Action] {
        guard let seqs = self.assets[id]?.lane.acknowledged(), self.countsLive(id) else { return [] }
        guard self.assets[id]?.isPresenceConfirmed == true else {
            self.assets[id]?.takenEarly.formUnion(seqs)
            return []
        }
        return self.askSpool(of: id, at: moment) { $0.takenLive(seqs, now: moment.now) }
    }

    /// The own presence came back: what was taken before counts as well.
    mutating func presenceConfirmed(of id: TrackableID, at moment: Moment) -> [Action] {
        self.assets[id]?.isPresenceConfirmed = true
        guard let seqs = self.assets[id]?.takenEarly, !seqs.isEmpty else { return [] }
        self.assets[id]?.takenEarly = SeqSet()
        return self.askSpool(of: id, at: moment) { $0.takenLive(seqs, now: moment.now) }
    }

    mutating func acknowledged(
        by recorder: ClientID, of id: TrackableID, _ payload: ArraySlice<UInt8>?, isRetained: Bool, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        // Cleared: the recorder has gone and says nothing.
        guard let payload else { return [] }
        let acknowledgement = try HistoryCodec.decodeAcknowledgement(payload)
        let given = self.assets[id]?.lastSeq ?? 0
        let actions = self.askSpool(of: id, at: moment) {
            $0.acknowledged(by: recorder, acknowledgement, given: given, isRetained: isRetained, now: moment.now)
        }
        return actions + (isRetained ? [] : self.drainForRecorder(at: moment))
    }

    /// Lets go everything that was not sent: none of it rides along with a live position, or is told as an event, either.
    mutating func clearRecords(of id: TrackableID, at moment: Moment) -> [Action] {
        var actions: [Action] = []
        for held in self.assets[id]?.spool.contents ?? [] where !held.stored.isEmpty {
            if held.id == self.assets[id]?.stream { self.assets[id]?.lane.forget(held.stored) }
            self.unsentEvents.forget(of: id) { $0.stream == held.id && held.stored.contains($0.seq) }
            actions.append(.log(id, .remove(held.id, held.stored)))
            actions += self.askSpool(of: id, at: moment) { $0.cleared(held.stored, of: held.id, now: moment.now) }
        }
        return actions
    }

    /// The caller wants what waits to go now: records, and what else waits to be asked for.
    mutating func sendRecords(all: Bool, at moment: Moment) -> [Action] {
        self.isReleaseDue = true
        self.unsentEvents.ask()
        return self.sayDepartures(isAskedFor: true)
            + Array(self.assets.keys).flatMap { id in
                self.showTrip(of: id)
                    + self.askSpool(of: id, at: moment) {
                        all ? $0.flush(now: moment.now) : $0.sendNow(now: moment.now)
                    }
            }
    }
}

extension SpoolContents.Trackable {
    /// These are on disk. A stream that is not known begins with them, as it does there.
    mutating func appended(_ seqs: SeqSet, to stream: StreamID) {
        if !self.streams.contains(where: { $0.id == stream }) { self.begin(stream) }
        self.change(stream) { held in
            held.stored.formUnion(seqs)
            held.last = max(held.last, seqs.last ?? 0)
        }
    }

    /// A new stream begins.
    mutating func begin(_ stream: StreamID) {
        self.streams.append(StoredStream(id: stream))
        self.current = stream
    }

    /// Gives out the next number of the stream that goes on; `nil` when none does.
    mutating func nextSeq() -> UInt64? {
        guard let place = self.streams.firstIndex(where: { $0.id == self.current }) else { return nil }
        self.streams[place].last += 1
        return self.streams[place].last
    }

    /// Changes what is known of one of its streams.
    mutating func change(_ stream: StreamID, _ change: (inout StoredStream) -> Void) {
        guard let place = self.streams.firstIndex(where: { $0.id == stream }) else { return }
        change(&self.streams[place])
    }
}
