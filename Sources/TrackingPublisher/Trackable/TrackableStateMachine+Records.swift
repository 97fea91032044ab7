import TrackingCore

/// The log of one trackable: appended records, the recording lane, the answers of the broker about records, and
/// ingested records.
extension TrackableStateMachine {
    // MARK: - Log

    /// The log did something for this trackable, or failed to.
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
                .spoolDamaged, "cannot write the records: the log was damaged and opened anew. Send them again.")
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

    /// The log was damaged and opened anew: a new stream begins, and the remaining records of the others keep their
    /// names.
    private mutating func reopened(_ contents: SpoolContents.Trackable, _ context: TrackableContext) -> [Output] {
        let anew = TrackableBacklog(contents, context, using: &self.random)
        self.backlog.spool = anew.spool
        return [.ignoreAnswers(.history)] + self.begin(anew.stream, after: anew.lastSeq, context)
    }

    /// Another stream is written from now on; the presence names it.
    private mutating func begin(_ stream: StreamID, after last: UInt64, _ context: TrackableContext) -> [Output] {
        self.backlog.begin(stream, after: last)
        self.live.beginStream()
        let isSending = context.isAnnounced && self.status.isSending
        return [.ignoreAnswers(.update)] + (isSending ? self.announce(context) : [])
    }

    /// Gives records the next numbers of the stream that is written.
    private mutating func renumber(_ seqs: SeqSet, of stream: StreamID) -> [Output] {
        let first = self.backlog.nextName
        self.backlog.giveOut(seqs.count)
        return [.log(.renumber(stream, seqs, from: first))]
    }

    /// Records are in the log. A record that was being written while the log was opened anew keeps the name that it
    /// was given.
    private mutating func appended(
        _ seqs: SeqSet, of stream: StreamID, _ context: TrackableContext
    ) -> [Output] {
        if self.backlog.wrote(seqs, of: stream), self.feed.isRemote { return self.ingested(seqs, context) }
        return self.askSpool(context) { $0.appended(seqs, of: stream, now: context.now) }
    }

    /// Writes a record to the log; it is published once it is there.
    mutating func append(_ record: SpoolRecord) -> Output { .log(.append(self.backlog.stream, record, mark: nil)) }

    /// Puts quarantined records back at the end of the stream, under new numbers. A record that cannot be read stays
    /// quarantined.
    mutating func putBack(_ rows: [QuarantinedRecord], _ request: UInt64) -> [Output] {
        let stream = self.backlog.stream
        let records = rows.compactMap { PutBackRecord($0, in: stream) { self.backlog.nextSeq() } }
        guard !records.isEmpty else { return [.action(.answered(request: request, .success(.records(0))))] }
        return [.log(.putBack(stream, records, request: request))]
    }

    // MARK: - Recording lane

    /// Asks the decider of the recording lane, and translates its answers.
    mutating func askSpool(
        _ context: TrackableContext, _ question: (inout SpoolStateMachine) -> [SpoolStateMachine.Action]
    ) -> [Output] {
        self.backlog.spool.batchesAhead = context.batchesAhead
        return question(&self.backlog.spool).flatMap { self.perform($0, context) }
    }

    private mutating func perform(_ action: SpoolStateMachine.Action, _ context: TrackableContext) -> [Output] {
        switch action {
        case .read(let query): return [.log(.read(query))]
        case .publish(let batch): return [.publish(.history(self.id), HistoryCodec.encode(batch), .history)]
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

    /// The broker answered about an update.
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

    /// The records of an acknowledged update are safe once the own presence came back on this connection.
    private mutating func updateTaken(_ context: TrackableContext) -> [Output] {
        let seqs = self.live.lane.acknowledged()
        guard self.feed.countsLive(context.configuration.recording) else { return [] }
        guard self.status.isPresenceConfirmed else {
            self.backlog.takenEarly(seqs)
            return []
        }
        return self.askSpool(context) { $0.takenLive(seqs, now: context.now) }
    }

    /// The broker accepts no update of this size or content. The position is tried without skipped ones, which go on
    /// the recording lane: that finds the record. The trackable is not rejected, because its next position may be
    /// accepted.
    private mutating func updateRefused(_ error: TrackingError, _ context: TrackableContext) -> [Output] {
        let seqs = self.live.lane.seqsInFlight
        let goesAgain = self.live.lane.refusedForContent()
        let outputs = self.askSpool(context) { $0.failedLive(seqs, now: context.now) }
        return goesAgain ? outputs : outputs + [.action(.badMessage(topic: context.path(.location(self.id)), error))]
    }

    /// The broker answered about a batch.
    mutating func batchAnswered(_ refusal: TrackingError?, _ context: TrackableContext) -> [Output] {
        var outputs: [Output] = refusal == nil ? [.acknowledged(batch: self.backlog.spool.inFlight)] : []
        outputs += self.askSpool(context) { $0.answered(refusal, now: context.now) }
        // Without a live lane, an acknowledged batch proves as much as an acknowledged update.
        guard refusal == nil, !context.sendsLive else { return outputs }
        self.status.updateAcknowledged(endsBackoff: false)
        return outputs + self.reportState(reason: nil, context)
    }

    /// Opens the recording lane behind the live one, or closes it.
    mutating func openRecords(_ context: TrackableContext) -> [Output] {
        let isOpen = self.status.isOpenForRecords(
            isAnnounced: context.isAnnounced && context.isOn, isAlive: context.isAlive)
        guard isOpen != self.backlog.spool.isOpen else { return [] }
        if isOpen { return self.askSpool(context) { $0.opened(now: context.now) } }
        return [.ignoreAnswers(.history)] + self.askSpool(context) { $0.closed(isOrderly: true, now: context.now) }
    }

    /// Closes the recording lane. Records in flight on the live lane may not have arrived.
    ///
    /// - Parameter isOrderly: `true` where the connection goes on: it did not end because of the batch in flight.
    mutating func closeRecords(isOrderly: Bool = false, _ context: TrackableContext) -> [Output] {
        var lost = self.live.lane.seqsInFlight
        lost.formUnion(self.backlog.removeTakenEarly())
        let ignored: [Output] = self.backlog.spool.isUnderWay ? [.ignoreAnswers(.history)] : []
        return ignored
            + self.askSpool(context) {
                $0.closed(isOrderly: isOrderly, now: context.now) + $0.failedLive(lost, now: context.now)
            }
    }

    /// Holds the recording lane while sending is deferred, or releases it behind the position that goes first.
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

    /// Releases everything that was recorded so far while sending was deferred.
    mutating func release() {
        // A newer position may take the place of the waiting one.
        if self.live.lane.isWaiting { self.live.owesUpdate = true }
        self.owesRecords = true
    }

    /// A recorder acknowledged records.
    mutating func acknowledged(
        _ acknowledgement: Acknowledgement, by recorder: ClientID, isRetained: Bool, _ context: TrackableContext
    ) -> [Output] {
        let given = self.backlog.lastSeq
        return self.askSpool(context) {
            $0.acknowledged(by: recorder, acknowledgement, given: given, isRetained: isRetained, now: context.now)
        }
    }

    /// Removes every record that is not acknowledged. None of them goes along with a live position, or is published as
    /// an event.
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

    /// The caller asks for everything that waits: one batch, or all records.
    mutating func sendRecords(all: Bool, _ context: TrackableContext) -> [Output] {
        self.unsent.ask()
        return self.publishTrip(context)
            + self.askSpool(context) { all ? $0.flush(now: context.now) : $0.sendNow(now: context.now) }
    }

    // MARK: - Ingested records

    /// Tracks the trackable for ingested records until `leaseEnd` at least.
    ///
    /// - Returns: `true` where it was fed by the device's own fixes until now.
    mutating func extendLease(to leaseEnd: MonotonicTime) -> Bool {
        let isExtended: Void? = self.feed.withRemote { $0.leaseEnd = leaseEnd }
        guard isExtended == nil else { return false }
        let watermarks = PublishedWatermarks(self.stored.watermarks ?? [])
        self.feed = .remote(RemoteSource(watermarks: watermarks, leaseEnd: leaseEnd))
        return true
    }

    /// Ingests a batch. Its sender is answered when all of it is safe, at `deadline` at the latest.
    mutating func ingest(_ batch: IntakeQueue.Batch, by deadline: MonotonicTime) -> [Output] {
        // A name that the broker can never accept will not be accepted later.
        if let failure = self.failure, failure.code != .takenOver {
            return [.action(.answered(request: batch.request, .failure(failure)))]
        }
        return self.withRemote { $0.ingest(batch, by: deadline) }
    }

    /// Changes the remote source; does nothing where the device's own fixes are recorded.
    private mutating func withRemote(_ change: (inout RemoteSource) -> [Output]) -> [Output] {
        self.feed.withRemote(change) ?? []
    }

    /// Some ingested records are known from before; the others are appended, with the watermarks.
    private mutating func found(_ known: [RecordMark: RecordName], _ context: TrackableContext) -> [Output] {
        let (first, now) = (self.backlog.nextName, context.moment.wall)
        guard let found = self.feed.withRemote({ $0.found(known, from: first, now: now) }) else { return [] }
        self.backlog.giveOut(found.appends.count)
        return found.appends + self.store(found.watermarks) + self.settleIntake()
    }

    private mutating func store(_ watermarks: PublishedWatermarks) -> [Output] {
        guard self.stored.watermarks != watermarks.encoded else { return [] }
        self.stored.watermarks = watermarks.encoded
        return [.log(.keep(StoredValues.Key.watermarks.of(self.id), watermarks.encoded))]
    }

    /// Ingested records are in the log. They are published as far as they are news, and all of them go to the
    /// recorders at once.
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

    /// A record that is newer than everything published before goes to its topic, as a device's own does.
    private mutating func publishNews(_ content: RecordDraft.Content, _ context: TrackableContext) -> [Output] {
        switch content {
        case .point(let location):
            self.position.fix = location
            self.position.places.moved(to: location)
            self.position.places.recorded(location)
            guard context.sendsLive, self.failure == nil else { return [] }
            _ = self.live.lane.captured(location, now: context.now, wallClock: context.moment.wall)
            return []
        case .event(let event):
            self.publishLater(event, context)
            return [.action(.eventRecorded(self.id, event))]
        case .trip(let trip):
            self.trips.unpublished = trip
            self.trips.last = trip
            return [.action(.tripChanged(self.id, trip))]
        }
    }

    private mutating func settleIntake() -> [Output] {
        let spool = self.backlog.spool
        return self.withRemote { $0.settle(isStored: spool.isAwaited) }
    }

    /// The batches under way could not be looked up or written.
    private mutating func intakeFailed(_ error: TrackingError) -> [Output] {
        // The watermarks that were to be stored with the records are not in the log either.
        if let source = self.feed.remote { self.stored.watermarks = source.watermarks.encoded }
        return self.withRemote { $0.failed(error) }
    }

    /// Senders have waited for as long as they are willing to.
    mutating func intakeExpired(_ context: TrackableContext) -> [Output] {
        let obstacles = IntakeObstacles(
            isAnnounced: context.isAnnounced, refusal: self.refusal, spool: self.backlog.spool,
            isRecorderExpected: context.configuration.recording.unnamedRecorder == .running)
        return self.withRemote { $0.expired(obstacles, now: context.now) }
    }

    /// `true` while no caller waits for ingested records.
    var isIntakeIdle: Bool { self.feed.remote?.intake.isIdle ?? true }

    mutating func leaseEnded(_ context: TrackableContext) -> [Output] {
        let isFinished =
            self.backlog.isWritten && self.backlog.spool.isFinished && !self.backlog.spool.owesDeclaration
        if isFinished, self.isIntakeIdle { return [.leaseEnded] }
        _ = self.feed.withRemote { $0.leaseEnd = context.now.advanced(by: RemoteSource.drainPause) }
        return []
    }

    // MARK: - End

    /// Stops tracking the trackable: its trip ends, and senders of ingested records are answered.
    ///
    /// - Returns: The outputs, and the end of the trip for ``DormantTrackable``.
    mutating func endTrip(_ context: TrackableContext) -> (outputs: [Output], departure: Departure?) {
        // The trips of a failed trackable are recorded elsewhere.
        guard self.failure == nil, self.trips.machine.current != nil,
            let change = try? self.trips.machine.stop(at: context.moment, next: self.backlog.nextName)
        else { return ([], nil) }
        var outputs = self.tripChanged(change, context)
        let ended = self.unsent.take { event, _ in event.kind == .tripEnded }
        outputs.append(
            .log(.keep(StoredValues.Key.departure.of(self.id), MessageCodec.encode(context.shown(change.trip)))))
        return (outputs, Departure(trip: change.trip, event: ended.last))
    }

    /// Answers every sender of ingested records, because the trackable stops being tracked.
    func endIntake() -> [Output] {
        self.feed.remote?.stopped(
            TrackingError(.stopped, "cannot publish the records: '\(self.id)' is not tracked any more")) ?? []
    }

    /// The trackable while it is not tracked.
    func dormant(_ departure: Departure?, at moment: Moment) -> DormantTrackable {
        var stored = self.stored
        stored.trip = self.trips.machine.encoded(at: moment)
        stored.lowBattery = self.lowBattery.stored
        return DormantTrackable(
            log: self.backlog.contents, stored: stored, departure: departure, random: self.random)
    }

    /// Takes over the end of the last trip, which was not published while the trackable was dormant.
    mutating func resume(_ departure: Departure?, _ context: TrackableContext) -> [Output] {
        guard let departure else { return [] }
        self.trips.unpublished = departure.trip
        if let event = departure.event { self.publishLater(event, context) }
        return [.log(.keep(StoredValues.Key.departure.of(self.id), nil))]
    }
}
