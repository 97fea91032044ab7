import TrackingCore

/// What the log tells, and what of it goes out on the recording lane.
extension PublisherStateMachine {
    mutating func happened(_ event: LogEvent, to id: TrackableID, at moment: Moment) -> [Action] {
        guard self.assets[id] != nil else { return self.happenedToOther(event, id) }
        switch event {
        case .appended(let stream, let seqs):
            guard self.written(stream, seqs, of: id) else { return [] }
            return self.askSpool(of: id, at: moment) { $0.appended(seqs, now: moment.now) }
        case .appendFailed(let stream, let seqs, let error):
            // The live lane goes on; what the log could not take is declared gone.
            guard self.written(stream, seqs, of: id) else { return [] }
            self.assets[id]?.spool.appendFailed(seqs)
            return [.logFailed(id, error)]
        case .loaded(let records, let missing):
            return self.askSpool(of: id, at: moment) { $0.loaded(records, missing: missing, now: moment.now) }
        case .readFailed:
            return self.askSpool(of: id, at: moment) { $0.readFailed(now: moment.now) }
        case .reopened(let held):
            return self.reopened(held, of: id, at: moment)
        case .dropped(let stream, let seqs):
            return self.askSpool(of: id, at: moment) { $0.dropped(seqs, of: stream, now: moment.now) }
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
        self.assets[id]?.beginStream(stream, spool, after: held.streams.first { $0.id == stream }?.last ?? 0)
        guard self.session.isAnnounced, self.assets[id]?.isSending == true else { return [] }
        return self.announce(id, at: moment)
    }

    /// These may be sent now.
    private mutating func written(_ stream: StreamID, _ seqs: SeqSet, of id: TrackableID) -> Bool {
        guard stream == self.assets[id]?.stream, let last = seqs.last else { return false }
        self.assets[id]?.wrote(through: last)
        return true
    }

    /// A trackable that is not carried any more: what its log holds is remembered for when it is carried again.
    private mutating func happenedToOther(_ event: LogEvent, _ id: TrackableID) -> [Action] {
        guard case .appended(let stream, let seqs) = event,
            let place = self.logs[id]?.streams.firstIndex(where: { $0.id == stream })
        else { return [] }
        self.logs[id]?.streams[place].stored.formUnion(seqs)
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
        let answers = self.assets[id]?.ask(question) ?? []
        return answers.flatMap { self.perform($0, of: id, at: moment) }
    }

    private mutating func perform(
        _ action: SpoolStateMachine.Action, of id: TrackableID, at moment: Moment
    ) -> [Action] {
        switch action {
        case .read(let stream, let seqs, let bytes):
            return [.log(id, .read(stream, seqs, maximumBytes: bytes))]
        case .publish(let batch):
            return [self.publish(.history(id), HistoryCodec.encode(batch), .history(id))]
        case .remove(let stream, let seqs):
            if stream == self.assets[id]?.stream { self.assets[id]?.lane.forget(seqs) }
            return [.log(id, .remove(stream, seqs))]
        case .quarantine(let stream, let seq, let reason):
            return [.log(id, .quarantine(stream, seq, reason))]
        case .forget(let stream):
            return [.log(id, .forget(stream))]
        case .tellDropped(let count):
            return self.tell(.dropped, ["count": .number(Double(count))], of: id, at: moment)
        }
    }

    /// The recording lane opens behind the live one, and closes with it.
    mutating func openRecords(of id: TrackableID, at moment: Moment) -> [Action] {
        guard
            let isOpen = self.assets[id]?.isOpenForRecords(
                isAnnounced: self.session.isAnnounced && self.configuration.isOn, isAlive: self.session.isLivenessConfirmed),
            isOpen != self.assets[id]?.spool.isOpen
        else { return [] }
        return self.askSpool(of: id, at: moment) { isOpen ? $0.opened(now: moment.now) : $0.closed(now: moment.now) }
    }

    /// What was on its way on the live lane is not known to have arrived.
    ///
    /// - Parameter isOrderly: Whether the connection goes on: it did not end because of the batch on its way.
    mutating func closeRecords(of id: TrackableID, isOrderly: Bool = false, at moment: Moment) -> [Action] {
        var lost = self.assets[id]?.lane.seqsInFlight ?? SeqSet()
        lost.formUnion(self.assets[id]?.takenEarly ?? SeqSet())
        self.assets[id]?.takenEarly = SeqSet()
        return self.askSpool(of: id, at: moment) {
            $0.closed(isOrderly: isOrderly, now: moment.now) + $0.failedLive(lost, now: moment.now)
        }
    }

    /// The broker took an update: what it carried is safe once the own presence came back on this connection.
    mutating func updateTaken(of id: TrackableID, at moment: Moment) -> [Action] {
        guard let seqs = self.assets[id]?.lane.acknowledged() else { return [] }
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
        by recorder: ClientID, of id: TrackableID, _ payload: ArraySlice<UInt8>?, at moment: Moment
    ) throws(TrackingError) -> [Action] {
        // Cleared: the recorder has gone and says nothing.
        guard let payload else { return [] }
        let acknowledgement = try HistoryCodec.decodeAcknowledgement(payload)
        return self.askSpool(of: id, at: moment) { $0.acknowledged(by: recorder, acknowledgement, now: moment.now) }
    }

    /// Lets go everything that was not sent.
    mutating func clearRecords(of id: TrackableID, at moment: Moment) -> [Action] {
        (self.assets[id]?.spool.contents ?? []).filter { !$0.stored.isEmpty }.flatMap { held in
            [.log(id, .remove(held.id, held.stored))]
                + self.askSpool(of: id, at: moment) { $0.cleared(held.stored, of: held.id, now: moment.now) }
        }
    }

    /// The caller wants what waits to go now.
    mutating func sendRecords(all: Bool, at moment: Moment) -> [Action] {
        self.assets.keys.flatMap { id in
            self.askSpool(of: id, at: moment) { all ? $0.flush(now: moment.now) : $0.sendNow(now: moment.now) }
        }
    }
}
