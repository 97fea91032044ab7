import TrackingCore

/// The records of one trackable: writing to the log, sending in batches, acknowledgements, and ingested records.
extension TrackableStateMachine {
    // MARK: - Log

    /// Handles a report of the log about this trackable's records, such as that they were written, read or dropped.
    mutating func happened(_ event: PublisherStateMachine.LogEvent, _ context: TrackableContext) -> [Output] {
        switch event {
        case .appended(let stream, let seqs):
            return self.appended(seqs, of: stream, context)
        case .appendFailed(let stream, let seqs, let error):
            // Records that the log rejects are declared gone. A device's own go on the live lane all the same; an
            // ingested record was not published, and its sender sends it again under another name.
            let failed = Output.action(.logFailed(self.id, error))
            guard self.backlog.wrote(seqs, of: stream) else { return [failed] }
            self.backlog.spool.appendFailed(seqs)
            return [failed] + self.intakeFailed(error)
        case .loaded(let records, let missing, let query):
            return self.askSpool(context) { $0.loaded(records, missing: missing, by: query, now: context.now) }
        case .readFailed(let query):
            return self.askSpool(context) { $0.readFailed(query, now: context.now) }
        case .found(let known):
            return self.found(known, context)
        case .findFailed(let error):
            return self.intakeFailed(error)
        case .reopened(let contents):
            let error = TrackingError(
                .spoolDamaged, "cannot write the records: the log was damaged and opened anew. Send the records again.")
            return self.reopened(contents, context) + self.intakeFailed(error)
        case .dropped(let stream, let seqs):
            return self.askSpool(context) { $0.dropped(seqs, of: stream, now: context.now) }
        case .setAside(let stream, let seq):
            // The sender can do nothing about a quarantined record: it is kept for the operator.
            return self.askSpool(context) { $0.setAside(seq, of: stream, now: context.now) }
                + self.withRemote { $0.areSafe(SeqSet([seq...seq]), of: stream) }
        case .setAsideFailed(let stream, let seq):
            return self.askSpool(context) { $0.setAsideFailed(seq, of: stream, now: context.now) }
        case .putBack(let stream, let seqs, let request):
            return self.appended(seqs, of: stream, context)
                + self.askSpool(context) { $0.hurried(through: seqs.last ?? 0, of: stream, now: context.now) }
                + [.action(.answered(request: request, .success(.records(seqs.count))))]
        case .putBackFailed(let stream, let seqs, let error, let request):
            if self.backlog.wrote(seqs, of: stream) { self.backlog.spool.appendFailed(seqs) }
            return [.action(.answered(request: request, .failure(error)))]
        }
    }

    /// Handles that the log was damaged and was opened again. The trackable continues with the records that the log
    /// still contains, and appends to the log's new stream.
    private mutating func reopened(_ contents: SpoolContents.Trackable, _ context: TrackableContext) -> [Output] {
        let anew = TrackableBacklog(contents, context, using: &self.random)
        self.backlog.spool = anew.spool
        return [.ignoreAnswers(.history)] + self.begin(anew.stream, after: anew.lastSeq, context)
    }

    /// Begins to append to another stream, and announces the trackable again because its presence names the stream.
    private mutating func begin(_ stream: StreamID, after last: UInt64, _ context: TrackableContext) -> [Output] {
        self.backlog.begin(stream, after: last)
        self.live.beginStream()
        let isSending = context.isAnnounced && self.status.isSending
        return [.ignoreAnswers(.update)] + (isSending ? self.announce(context) : [])
    }

    /// Moves records to the next numbers of the current stream.
    private mutating func renumber(_ seqs: SeqSet, of stream: StreamID) -> [Output] {
        let first = self.backlog.nextName
        self.backlog.giveOut(seqs.count)
        return [.log(.renumber(stream, seqs, from: first))]
    }

    /// Handles that records were written to the log: they may now be sent to recorders. Ingested records that are new
    /// enough are also published live.
    private mutating func appended(
        _ seqs: SeqSet, of stream: StreamID, _ context: TrackableContext
    ) -> [Output] {
        if self.backlog.wrote(seqs, of: stream), self.feed.isRemote { return self.ingested(seqs, context) }
        return self.askSpool(context) { $0.appended(seqs, of: stream, now: context.now) }
    }

    /// Returns the request that appends the record with the last assigned number to the log. The record is published
    /// after it was written.
    func append(_ content: RecordDraft.Content, at time: UnixTime) -> Output {
        .log(.append(self.backlog.stream, content.record(at: time, seq: self.backlog.lastSeq), mark: nil))
    }

    /// Moves quarantined records, which were set aside because they could never be accepted, to the end of the stream
    /// under new numbers, so that they are sent again.
    ///
    /// A record that cannot be decoded stays quarantined.
    mutating func putBack(_ rows: [QuarantinedRecord], _ request: UInt64) -> [Output] {
        let stream = self.backlog.stream
        let records = rows.compactMap { PutBackRecord($0, in: stream) { self.backlog.nextSeq() } }
        guard !records.isEmpty else { return [.action(.answered(request: request, .success(.records(0))))] }
        return [.log(.putBack(stream, records, request: request))]
    }

    // MARK: - Recording lane

    /// Calls `question` with the trackable's state machine that sends records to recorders in batches. Returns the
    /// outputs that carry out the actions returned by `question`.
    mutating func askSpool(
        _ context: TrackableContext, _ question: (inout SpoolStateMachine) -> [SpoolStateMachine.Action]
    ) -> [Output] {
        self.backlog.spool.batchesAhead = context.batchesAhead
        return question(&self.backlog.spool).flatMap { self.perform($0, context) }
    }

    private mutating func perform(_ action: SpoolStateMachine.Action, _ context: TrackableContext) -> [Output] {
        switch action {
        case .read(let query): return [.log(.read(query))]
        case .publish(let batch):
            return [.publish(.history(self.id), HistoryCodec.encode(context.counted(batch)), .history)]
        case .remove(let stream, let seqs):
            if stream == self.backlog.stream { self.live.lane.forget(seqs) }
            return [.safe(stream, seqs), .log(.remove(stream, seqs))] + self.withRemote { $0.areSafe(seqs, of: stream) }
        case .taken(let stream, let seqs): return self.withRemote { $0.areSafe(seqs, of: stream) }
        case .quarantine(let stream, let seq, let reason): return [.log(.quarantine(stream, seq, reason))]
        case .begin(let stream, let old):
            return [.action(.numbersReused(self.id, old))] + self.begin(stream, after: 0, context)
        case .renumber(let stream, let seqs): return self.renumber(seqs, of: stream)
        case .forget(let stream): return [.log(.forget(stream))]
        case .reportDropped(let count): return self.recordEvent(.dropped, ["count": .number(Double(count))], context)
        case .reportRejection(let refusal): return [.action(.recordsRefused(self.id, refusal))]
        }
    }

    /// Handles the broker's answer, positive or negative, to an update, the message with the newest position.
    mutating func updateAnswered(_ refusal: TrackingError?, _ context: TrackableContext) -> [Output] {
        guard let refusal else {
            self.status.updateAcknowledged(endsBackoff: true)
            return [.acknowledged(batch: nil)] + self.updateTaken(context) + self.reportState(reason: nil, context)
        }
        if refusal.isContentRefusal { return self.updateRefused(refusal, context) }
        // The connection goes on: it did not end because of the batch in flight.
        let outputs = self.closeRecords(isOrderly: true, context)
        self.live.lane.failed()
        return outputs + self.rejected(refusal, context)
    }

    /// Handles that the broker acknowledged an update: its records count as acknowledged.
    ///
    /// They count only after the broker delivered this publisher's own presence message on this connection. A
    /// failed trackable does not receive this proof any more, so its records are sent again in a batch.
    private mutating func updateTaken(_ context: TrackableContext) -> [Output] {
        let seqs = self.live.lane.acknowledged()
        guard self.feed.countsLive(context.configuration.recording) else { return [] }
        if self.status.isPresenceConfirmed { return self.askSpool(context) { $0.takenLive(seqs, now: context.now) } }
        self.backlog.takenEarly(seqs)
        return self.failure == nil ? [] : self.sendTakenEarly(context)
    }

    /// Handles that the broker rejected an update because of its size or content.
    ///
    /// The position is published again without the skipped positions, which are sent in batches. An update that had no
    /// skipped positions is not published again, but reported as invalid; its record is sent in a batch. The trackable
    /// does not count as rejected.
    private mutating func updateRefused(_ error: TrackingError, _ context: TrackableContext) -> [Output] {
        let seqs = self.live.lane.seqsInFlight
        let goesAgain = self.live.lane.refusedForContent()
        let outputs = self.askSpool(context) { $0.failedLive(seqs, now: context.now) }
        return goesAgain ? outputs : outputs + [.action(.badMessage(topic: context.path(.location(self.id)), error))]
    }

    /// Handles the broker's answer to a batch of records. If no live positions are published, an acknowledged batch
    /// proves as much as an acknowledged update: that the broker accepts the trackable.
    mutating func batchAnswered(_ refusal: TrackingError?, _ context: TrackableContext) -> [Output] {
        var outputs: [Output] = refusal == nil ? [.acknowledged(batch: self.backlog.spool.inFlight)] : []
        outputs += self.askSpool(context) { $0.answered(refusal, now: context.now) }
        // Without a live lane, an acknowledged batch proves as much as an acknowledged update.
        guard refusal == nil, !context.sendsLive else { return outputs }
        self.status.updateAcknowledged(endsBackoff: false)
        return outputs + self.reportState(reason: nil, context)
    }

    /// Begins or stops the sending of batches, as the connection and the trackable's status allow it or not.
    mutating func openRecords(_ context: TrackableContext) -> [Output] {
        let isOpen = self.status.isOpenForRecords(
            isAnnounced: context.isAnnounced && context.isOn, isAlive: context.isAlive)
        guard isOpen != self.backlog.spool.isOpen else { return [] }
        if isOpen { return self.askSpool(context) { $0.opened(now: context.now) } }
        return [.ignoreAnswers(.history)] + self.askSpool(context) { $0.closed(isOrderly: true, now: context.now) }
    }

    /// Stops the sending of batches to recorders. Records in an unanswered update are sent again later in a batch.
    ///
    /// - Parameter isOrderly: `false` if the connection was lost, which the batch in flight may have caused.
    mutating func closeRecords(isOrderly: Bool = false, _ context: TrackableContext) -> [Output] {
        var lost = self.live.lane.seqsInFlight
        lost.formUnion(self.backlog.removeTakenEarly())
        let ignored: [Output] = self.backlog.spool.isUnderWay ? [.ignoreAnswers(.history)] : []
        return ignored
            + self.askSpool(context) {
                $0.closed(isOrderly: isOrderly, now: context.now) + $0.failedLive(lost, now: context.now)
            }
    }

    /// Holds back the batches of records while sending is delayed until the device has moved. After the delay, the
    /// newest position is published first.
    mutating func holdRecords(_ context: TrackableContext) -> [Output] {
        let isDeferred = context.configuration.deferral != nil
        guard isDeferred || self.backlog.spool.isHeld else { return [] }
        // Records that are held when nothing is deferred any more are released as well.
        if self.owesRecords || !isDeferred, !(self.live.owesUpdate && self.status.isSending) {
            self.owesRecords = false
            let last = self.backlog.lastSeq
            return self.askSpool(context) { $0.released(through: last, now: context.now) }
        }
        if context.isHolding, !self.backlog.spool.isHeld { self.backlog.spool.held() }
        return []
    }

    /// Ends the deferral of sending for everything recorded so far. The waiting position and the records are sent
    /// although the device has not moved far enough.
    mutating func release() {
        // A newer position may take the place of the waiting one.
        if self.live.lane.isWaiting { self.live.owesUpdate = true }
        self.owesRecords = true
    }

    /// Handles a recorder's acknowledgement of stored records.
    mutating func acknowledged(
        _ acknowledgement: Acknowledgement, by recorder: ClientID, isRetained: Bool, _ context: TrackableContext
    ) -> [Output] {
        let given = self.backlog.lastSeq
        return self.askSpool(context) {
            $0.acknowledged(by: recorder, acknowledgement, given: given, isRetained: isRetained, now: context.now)
        }
    }

    /// Removes all unacknowledged records of the trackable from the log. They are not sent with later positions or as
    /// events.
    mutating func clearRecords(_ context: TrackableContext) -> [Output] {
        var outputs: [Output] = []
        for held in self.backlog.spool.contents where !held.stored.isEmpty {
            if held.id == self.backlog.stream { self.live.lane.forget(held.stored) }
            self.unsent.forget { $0.stream == held.id && held.stored.contains($0.seq) }
            outputs.append(.log(.remove(held.id, held.stored)))
            outputs += self.askSpool(context) { $0.cleared(held.stored, of: held.id, now: context.now) }
        }
        return outputs
    }

    /// Publishes, at the caller's request, what waits: the events, the trip, and one batch of records or all records.
    mutating func sendRecords(all: Bool, _ context: TrackableContext) -> [Output] {
        self.unsent.ask()
        return self.publishTrip(context)
            + self.askSpool(context) { all ? $0.flush(now: context.now) : $0.sendNow(now: context.now) }
    }

    // MARK: - Ingested records

    /// Keeps the trackable tracked until `leaseEnd` or later, for records that another system supplies.
    ///
    /// - Returns: `true` if its records were the device's own fixes until now.
    mutating func extendLease(to leaseEnd: MonotonicTime) -> Bool {
        let isExtended: Void? = self.feed.withRemote { $0.leaseEnd = leaseEnd }
        guard isExtended == nil else { return false }
        let watermarks = PublishedWatermarks(self.stored.watermarks ?? [])
        self.feed = .remote(RemoteSource(watermarks: watermarks, leaseEnd: leaseEnd))
        return true
    }

    /// Ingests a batch of records. Its sender is answered when all of them are safe, or gets an error at `deadline`.
    mutating func ingest(_ batch: IntakeQueue.Batch, by deadline: MonotonicTime) -> [Output] {
        // A name that the broker can never accept will not be accepted later.
        if let failure = self.failure, failure.code != .takenOver {
            return [.action(.answered(request: batch.request, .failure(failure)))]
        }
        return self.withRemote { $0.ingest(batch, by: deadline) }
    }

    /// Applies `change` to the state of the remote source, if another system supplies the trackable's records. Does
    /// nothing if the records are the device's own fixes.
    private mutating func withRemote(_ change: (inout RemoteSource) -> [Output]) -> [Output] {
        self.feed.withRemote(change) ?? []
    }

    /// Handles the log's answer to the search for ingested records: appends those that the log does not contain yet.
    ///
    /// The times of the newest published records, if they changed, are stored in the log together with the appended
    /// records.
    private mutating func found(_ known: [RecordMark: RecordName], _ context: TrackableContext) -> [Output] {
        let (first, now) = (self.backlog.nextName, context.moment.wall)
        guard let found = self.feed.withRemote({ $0.found(known, from: first, now: now) }) else { return [] }
        self.backlog.giveOut(found.appends.count)
        return found.appends + self.store(found.watermarks) + self.settleIntake()
    }

    private mutating func store(_ watermarks: PublishedWatermarks) -> [Output] {
        guard self.stored.watermarks != watermarks.encoded else { return [] }
        self.stored.watermarks = watermarks.encoded
        return [StoredValues.Key.watermarks.keep(watermarks.encoded, of: self.id)]
    }

    /// Handles that ingested records were written to the log.
    ///
    /// Publishes those of them that are new enough for subscribers, and sends all of them to the recorders without
    /// delay.
    private mutating func ingested(_ seqs: SeqSet, _ context: TrackableContext) -> [Output] {
        let news = self.feed.withRemote { $0.written(seqs, now: context.moment.wall) } ?? []
        var outputs = news.flatMap { self.publishNews($0, context) }
        // The newest position goes first.
        outputs += self.publishNext(context)
        let stream = self.backlog.stream
        outputs += self.askSpool(context) {
            $0.appended(seqs, of: stream, now: context.now)
                + $0.hurried(through: seqs.last ?? 0, of: stream, now: context.now)
        }
        return outputs + self.settleIntake()
    }

    /// Publishes a new ingested record on the topic of its kind, like a record of the device itself.
    private mutating func publishNews(_ content: RecordDraft.Content, _ context: TrackableContext) -> [Output] {
        switch content {
        case .point(let location):
            self.position.ingested(location)
            guard context.sendsLive, self.failure == nil else { return [] }
            _ = self.live.lane.captured(location, now: context.now, wallClock: context.moment.wall)
            return []
        case .event(let event):
            self.publishLater(event, context)
            return [.action(.eventRecorded(self.id, event))]
        case .trip(let trip):
            self.trips.ingested(trip)
            return [.action(.tripChanged(self.id, trip))]
        }
    }

    private mutating func settleIntake() -> [Output] {
        let spool = self.backlog.spool
        return self.withRemote { $0.settle(isStored: spool.isAwaited) }
    }

    /// Handles that the log could not look up or write the present ingested batches: their senders get the error.
    private mutating func intakeFailed(_ error: TrackingError) -> [Output] {
        // The watermarks that were to be stored with the records are not in the log either.
        if let source = self.feed.remote { self.stored.watermarks = source.watermarks.encoded }
        return self.withRemote { $0.failed(error) }
    }

    /// Answers the senders of ingested records whose deadline has passed, with an error that names the reason.
    mutating func intakeExpired(_ context: TrackableContext) -> [Output] {
        let obstacles = IntakeObstacles(
            isAnnounced: context.isAnnounced, refusal: self.refusal, spool: self.backlog.spool,
            isRecorderExpected: context.configuration.recording.unnamedRecorder == .running)
        return self.withRemote { $0.expired(obstacles, now: context.now) }
    }

    /// `true` if no sender waits for an answer about ingested records.
    var isIntakeIdle: Bool { self.feed.remote?.intake.isIdle ?? true }

    mutating func leaseEnded(_ context: TrackableContext) -> [Output] {
        let isFinished =
            self.backlog.isWritten && self.backlog.spool.isFinished && !self.backlog.spool.owesDeclaration
        if isFinished, self.isIntakeIdle { return [.leaseEnded] }
        _ = self.feed.withRemote { $0.leaseEnd = context.now.advanced(by: RemoteSource.drainPause) }
        return []
    }

    // MARK: - End

    /// Ends the trackable's trip because its tracking stops, and stores the end of the trip in the log.
    ///
    /// - Returns: The outputs, and the end of the trip for ``DormantTrackable``; `nil` if there is no trip, or if the
    ///   trackable failed.
    mutating func endTrip(_ context: TrackableContext) -> (outputs: [Output], departure: Departure?) {
        // The trips of a failed trackable are recorded elsewhere.
        guard self.failure == nil, self.trips.machine.current != nil,
            let change = try? self.trips.machine.stop(at: context.moment, next: self.backlog.nextName)
        else { return ([], nil) }
        var outputs = self.tripChanged(change, context)
        let ended = self.unsent.take { event, _ in event.kind == .tripEnded }
        let stored = MessageCodec.encode(context.shown(change.trip))
        outputs.append(StoredValues.Key.departure.keep(stored, of: self.id))
        return (outputs, Departure(trip: change.trip, event: ended.last))
    }

    /// Answers every sender of ingested records, because the trackable stops being tracked.
    func endIntake() -> [Output] {
        self.feed.remote?.stopped(
            TrackingError(
                .stopped,
                "cannot confirm the records: tracking of '\(self.id)' ended before all of them were acknowledged. Send the records again: no record is stored twice."
            ))
            ?? []
    }

    /// Returns the state of the trackable when its tracking ends, from which the tracking can continue later.
    func dormant(_ departure: Departure?, at moment: Moment) -> DormantTrackable {
        var stored = self.stored
        stored.trip = self.trips.machine.encoded(at: moment)
        stored.lowBattery = self.lowBattery.stored
        return DormantTrackable(
            log: self.backlog.contents, stored: stored, departure: departure, random: self.random)
    }
}
